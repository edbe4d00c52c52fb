// StatCache: what the last snapshot of a folder knew of each file, so that an unchanged one is not read again
// (docs/formats/snapshot-cache.md). Sorted by path; a value. A lost or damaged cache costs time, never correctness.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/digest.h"

namespace lathe::cas {

// The stat fields that change when a file's bytes do.
struct FileStamp {
  std::uint64_t size = 0, inode = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
  static FileStamp of(const struct stat& st);
  // Whether a write at or after `time_ns` might leave the stamp as it is: the clock of the file system ticks slowly.
  bool is_racy_at(std::int64_t time_ns) const { return modified_ns >= time_ns || changed_ns >= time_ns; }
};

struct CachedFile {
  std::string_view path;  // points into the cache's bytes
  FileStamp stamp;
  base::Digest digest;
};

// The tree that the cache was written for. With the same files and the same links the manifest is the same: it need not
// be made again.
struct CachedTree {
  base::Digest manifest;
  std::uint64_t manifest_size = 0;
  base::Digest links;  // of the symbolic links, which have no entries
};

class StatCache {
 public:
  StatCache() = default;
  // An absent, foreign or damaged file gives an empty cache.
  static StatCache load(const std::filesystem::path& path);

  std::size_t size() const { return count_; }
  const CachedTree& tree() const { return tree_; }

  // Reads the entries from first to last; the cache must outlive it.
  class Cursor {
   public:
    explicit Cursor(const StatCache& cache) : rest_(cache.entries_) { advance(); }
    const CachedFile* get() const { return at_end_ ? nullptr : &file_; }
    void advance();

   private:
    std::string_view rest_;
    CachedFile file_;
    bool at_end_ = false;
  };

 private:
  bool parse(std::string_view bytes);
  std::unique_ptr<char[]> bytes_;
  std::string_view entries_;
  std::size_t count_ = 0;
  CachedTree tree_;
};

// Collects entries in the order of their paths and replaces the file at once.
class StatCacheWriter {
 public:
  explicit StatCacheWriter(const CachedTree& tree);
  void add(std::string_view path, const FileStamp& stamp, const base::Digest& digest);
  base::Result<void> save(const std::filesystem::path& path);

 private:
  std::string bytes_;
};

// $XDG_CACHE_HOME/lathe/snapshots/<digest of the absolute source path>; nothing when there is no home.
std::optional<std::filesystem::path> snapshot_cache_path(const std::filesystem::path& source);

}  // namespace lathe::cas

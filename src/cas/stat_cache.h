// StatCache: what the last snapshot of a folder knew of each file, so that an unchanged one is not read again
// (docs/formats/snapshot-cache.md). Sorted by path; a value. A lost or damaged cache costs time, never correctness.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

class StatCache {
 public:
  StatCache() = default;
  // An absent, foreign or damaged file gives an empty cache.
  static StatCache load(const std::filesystem::path& path);

  std::size_t size() const { return files_.size(); }
  const CachedFile& operator[](std::size_t i) const { return files_[i]; }

 private:
  bool parse();
  std::string bytes_;
  std::vector<CachedFile> files_;
};

// Collects entries in the order of their paths and replaces the file at once.
class StatCacheWriter {
 public:
  StatCacheWriter();
  void add(std::string_view path, const FileStamp& stamp, const base::Digest& digest);
  base::Result<void> save(const std::filesystem::path& path);

 private:
  std::string bytes_;
};

// $XDG_CACHE_HOME/lathe/snapshots/<digest of the absolute source path>; nothing when there is no home.
std::optional<std::filesystem::path> snapshot_cache_path(const std::filesystem::path& source);

}  // namespace lathe::cas

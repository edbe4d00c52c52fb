// Snapshot: the source folder of a run as a Tree, with the way to its bytes. Made on the client (CLI, SDK); files are
// hashed by a few threads, and those that a StatCache knows unchanged are not read. Immutable and thread-safe once
// taken. Every refusal names the entry and says what to do.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cas/blob_store.h"
#include "cas/source_walk.h"
#include "cas/tree.h"

namespace lathe::cas {

struct SnapshotStats {
  std::uint64_t files = 0, links = 0, bytes = 0;
  std::uint64_t files_read = 0, bytes_read = 0;  // the others were known from the cache
};

// Reads `size` bytes of an open file and tells their digest; thread-safe. Error(corrupt) when the file is shorter: it
// is being written to.
using FileDigester = std::function<base::Result<base::Digest>(int fd, std::uint64_t size)>;

struct SnapshotOptions {
  std::optional<std::filesystem::path> cache;  // see snapshot_cache_path(); nothing: read everything
  unsigned threads = 2;
  SourceLimits limits;
  // Called once, before files are read, with how many and how many bytes: gives what reads them instead of hash_file().
  std::function<FileDigester(std::uint64_t files, std::uint64_t bytes)> choose_digester;
  // Called now and then, from any of the threads, with what has been read so far.
  std::function<void(const SnapshotStats&)> progress;
};

class Snapshot {
 public:
  static base::Result<Snapshot> take(const std::filesystem::path& source, const SnapshotOptions& options);

  const Tree& tree() const { return tree_; }
  const BlobInfo& manifest() const { return manifest_; }
  const SnapshotStats& stats() const { return stats_; }
  // Each distinct blob once: the files in the order of the tree, then the manifest.
  std::vector<BlobInfo> blobs() const;
  // The bytes of one of blobs(), to be sent. Error(conflict) naming the file when it is no longer what was hashed.
  base::Result<BlobFile> open(const BlobInfo& blob) const;

 private:
  friend class SnapshotTaker;
  Snapshot() = default;

  std::filesystem::path source_;
  sys::File root_;
  Tree tree_;
  std::vector<FileStamp> stamps_;  // one for each entry of the tree
  std::string manifest_bytes_;     // empty: as the cache knew them
  BlobInfo manifest_;
  SnapshotStats stats_;
  // Where each blob is first named; made when first asked for: an unchanged snapshot never needs it.
  using BlobIndex = std::unordered_map<base::Digest, std::size_t>;
  struct LazyIndex {
    std::once_flag once;
    BlobIndex index;
  };
  const BlobIndex& first_entry() const;
  std::unique_ptr<LazyIndex> lazy_ = std::make_unique<LazyIndex>();
};

}  // namespace lathe::cas

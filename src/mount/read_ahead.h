// ReadAhead: fetches what a reader will want next while it works on what it has: the next chunk of a large file that is
// read from one to the next, and the next small files when files are read in their order. Its few threads are made with
// the first wish; wishes over a small number are dropped, as they only save time. Thread-safe.
#pragma once

#include <deque>
#include <thread>

#include "mount/chunk_cache.h"
#include "mount/file_tree.h"

namespace lathe::mount {

class ReadAhead {
 public:
  ReadAhead(ChunkCache& cache, FileTree& tree) : cache_(cache), tree_(tree) {}
  ~ReadAhead() { stop(); }

  // A reader got bytes of this chunk of the file.
  void saw(const Node& file, std::uint64_t chunk);
  // A fetch that waits is broken off by its source's interrupt().
  void stop();

 private:
  struct Wish {
    cas::BlobInfo blob;
    std::uint64_t chunk = 0;
  };
  void saw_small(const Node& file);
  void wish(const cas::BlobInfo& blob, std::uint64_t chunk);
  void work();

  static constexpr std::size_t kThreads = 4, kMostWishes = 64, kFilesAhead = 32;
  static constexpr std::uint64_t kBytesAhead = ChunkCache::kChunkBytes;

  ChunkCache& cache_;
  FileTree& tree_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Wish> wishes_;
  std::vector<std::thread> threads_;
  Inode last_file_ = 0, asked_until_ = 0;
  bool stopped_ = false;
};

}  // namespace lathe::mount

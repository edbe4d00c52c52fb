// Session: serves one mounted FUSE file system: names from a FileTree, bytes from a ChunkCache. Read-only. Content
// never changes, so the kernel is told to remember names, attributes and pages for as long as it likes, and files are
// opened without asking us. A few threads of its own answer, so that one slow fetch does not hold up other readers.
// Whoever owns it must never look into the mount itself. Bytes that cannot be had or are not what their digest says are
// EIO.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "mount/chunk_cache.h"
#include "mount/file_tree.h"
#include "mount/read_ahead.h"
#include "sys/fd.h"

namespace lathe::mount {

struct FuseState;

struct CacheOptions {
  std::uint64_t memory_bytes = 0;
  ChunkShelf* shelf = nullptr;  // on disk; may be shared by sessions, which it outlives
};

class Session {
 public:
  // `device`: from sys::mount_fuse(). `tree` and `source` outlive the session.
  static base::Result<std::unique_ptr<Session>> start(sys::Fd device, FileTree& tree, BlobSource& source,
                                                      const CacheOptions& cache);
  // Interrupts the source. Readers that are left get ENOTCONN.
  ~Session();

 private:
  Session(FileTree& tree, BlobSource& source, const CacheOptions& cache);
  void serve(int device);

  static constexpr int kThreads = 8;

  BlobSource& source_;
  ChunkCache cache_;
  ReadAhead ahead_;
  std::unique_ptr<FuseState> state_;
  sys::Fd stop_event_;
  std::vector<std::thread> threads_;
};

}  // namespace lathe::mount

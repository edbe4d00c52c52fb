// StagingWriter: the client's end of the local shortcut: copies files into a staging folder of the store, each read
// once: hashed and written piece by piece, and named by its digest. The folder is locked (shared) while the object
// lives and removed with it, together with what was not committed. Thread-safe but for its end.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "base/digest.h"
#include "sys/file_system.h"

namespace lathe::cas {

class StagingWriter {
 public:
  // `path` as StagingArea::open() gave it; not_found when it is not to be seen from here (another machine or
  // container).
  static base::Result<std::unique_ptr<StagingWriter>> open(std::string path,
                                                           sys::FileSystem& files = sys::linux_file_system());
  ~StagingWriter();

  // A FileDigester that also copies. After an error other than corrupt the folder is of no use: what it holds may be
  // incomplete.
  base::Result<base::Digest> take(int fd, std::uint64_t size);
  bool holds(const base::Digest& digest) const;

 private:
  StagingWriter(std::string path, sys::File lock, sys::FileSystem& files)
      : path_(std::move(path)), lock_(std::move(lock)), files_(files) {}
  base::Result<base::Digest> take_whole(std::string_view bytes);
  base::Result<base::Digest> take_pieces(int fd, std::uint64_t size);
  bool add(const base::Digest& digest);

  const std::string path_;
  const sys::File lock_;
  sys::FileSystem& files_;
  std::atomic<std::uint64_t> next_ = 0;
  mutable std::mutex mutex_;
  std::unordered_set<base::Digest> held_;
};

}  // namespace lathe::cas

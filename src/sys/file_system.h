// FileSystem: the seam between Lathe and the disk for everything that must survive a power cut (the blob store's write
// path, the runner's exit record). Only as wide as those need; plain reads go to the kernel directly.
// linux_file_system() is the real one; FaultyFileSystem (file_system_faulty.h) is its fake that loses what was not
// synced. Thread-safe. Every failure is base::Error with the path in its message.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::sys {

// An open file; owns its descriptor.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(other.release()) {}
  File& operator=(File&& other) noexcept;
  ~File() { reset(); }

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();  // the caller closes it
  void reset();

 private:
  int fd_ = -1;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // A file that did not exist before; open for writing.
  virtual base::Result<File> create(const std::string& path, mode_t mode) = 0;
  // Open for reading and writing; created when absent.
  virtual base::Result<File> open_or_create(const std::string& path, mode_t mode) = 0;
  // All of `bytes` at `offset`.
  virtual base::Result<void> write(const File& file, std::string_view bytes, std::uint64_t offset) = 0;
  virtual base::Result<void> truncate(const File& file, std::uint64_t size) = 0;
  // A second name for the open file `fd`; fails where the kernel cannot (other file system, foreign owner).
  virtual base::Result<void> link(int fd, const std::string& to) = 0;
  // Replaces `to`, as rename(2) does.
  virtual base::Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual base::Result<void> remove(const std::string& path) = 0;
  // An existing directory is fine.
  virtual base::Result<void> make_directory(const std::string& path, mode_t mode) = 0;

  // The three syncs fail with no_space, with io when the disk itself refused, or with another code when it was not even
  // asked (no descriptor left). After no_space or io the bytes may be lost although a second sync succeeds: the kernel
  // reports a failed write-out once and then takes its pages for clean. Only bytes that are written again count.

  // The bytes of one file are on disk when this returns; its name is so only after sync_directory() of its folder.
  virtual base::Result<void> sync_file(const std::string& path) = 0;
  // The names in one folder are on disk when this returns.
  virtual base::Result<void> sync_directory(const std::string& path) = 0;
  // Everything written so far to the file system that holds `path` is on disk when this returns.
  virtual base::Result<void> sync_everything(const std::string& path) = 0;
};

// The kernel's own. Stateless; one shared instance lives as long as the process.
FileSystem& linux_file_system();

// Writes `path` so that after any power cut it holds either nothing, the old bytes or the new ones: temporary file
// beside it, sync, rename, sync of the folder.
base::Result<void> write_file_durably(FileSystem& files, const std::string& path, std::string_view bytes, mode_t mode);

}  // namespace lathe::sys

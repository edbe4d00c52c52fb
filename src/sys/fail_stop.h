// FailStop: remembers that a sync failed on a disk whose bytes were going to be promised. A second sync of the same
// file proves nothing (see file_system.h), so from the first Code::io on every further sync is refused, and the owner's
// callback runs once: the server ends there, as it does when its database cannot be written. A full disk is not a
// failure of this kind; whoever met it writes the bytes again.
//
// FailStopFileSystem: the FileSystem whose syncs are watched in this way. Both are thread-safe; the callback runs on
// the thread whose sync failed.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "sys/file_system.h"

namespace lathe::sys {

class FailStop {
 public:
  using Callback = std::function<void(const base::Error&)>;

  void on_failure(Callback callback);
  // Error(io) after a failure.
  base::Result<void> check() const;
  // Passes the outcome of a sync on, and notes it when it is the disk's failure.
  base::Result<void> note(base::Result<void> synced);

 private:
  mutable std::mutex mutex_;
  std::optional<base::Error> failure_;
  Callback callback_;
};

class FailStopFileSystem final : public FileSystem {
 public:
  FailStopFileSystem(FileSystem& files, FailStop& watch) : files_(files), watch_(watch) {}

  base::Result<File> create(const std::string& path, mode_t mode) override { return files_.create(path, mode); }
  base::Result<File> open_or_create(const std::string& path, mode_t mode) override {
    return files_.open_or_create(path, mode);
  }
  base::Result<void> write(const File& file, std::string_view bytes, std::uint64_t offset) override {
    return files_.write(file, bytes, offset);
  }
  base::Result<void> truncate(const File& file, std::uint64_t size) override { return files_.truncate(file, size); }
  base::Result<void> link(int fd, const std::string& to) override { return files_.link(fd, to); }
  base::Result<void> rename(const std::string& from, const std::string& to) override { return files_.rename(from, to); }
  base::Result<void> remove(const std::string& path) override { return files_.remove(path); }
  base::Result<void> make_directory(const std::string& path, mode_t mode) override {
    return files_.make_directory(path, mode);
  }
  base::Result<void> sync_file(const std::string& path) override;
  base::Result<void> sync_directory(const std::string& path) override;
  base::Result<void> sync_everything(const std::string& path) override;

 private:
  FileSystem& files_;
  FailStop& watch_;
};

}  // namespace lathe::sys

#include "sys/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lathe::sys {
namespace {

std::unexpected<base::Error> os_failure(std::string_view verb, std::string_view path) {
  int number = errno;
  return base::fail(base::errno_error(number, fmt::format("cannot {} {}", verb, path)));
}

// Only the disk's own word is Code::io: a caller takes that for bytes that are gone (see file_system.h).
base::Result<void> sync_through(const std::string& path, int flags, int (*sync)(int), std::string_view verb) {
  File file(::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
    return base::fail(base::Code::unavailable, "cannot open {}: {}", path, std::strerror(errno));
  if (!file) return os_failure("open", path);
  int failed = 0;
  do {
    failed = sync(file.fd()) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed == 0) return {};
  if (failed == ENOSPC || failed == EDQUOT)
    return base::fail(base::Code::no_space, "cannot {} {}: {}", verb, path, std::strerror(failed));
  return base::fail(base::Code::io, "cannot {} {}: {}", verb, path, std::strerror(failed));
}

class LinuxFileSystem final : public FileSystem {
 public:
  base::Result<File> create(const std::string& path, mode_t mode) override {
    File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file) return os_failure("create", path);
    return file;
  }

  base::Result<File> open_or_create(const std::string& path, mode_t mode) override {
    File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file) return os_failure("open", path);
    return file;
  }

  base::Result<void> write(const File& file, std::string_view bytes, std::uint64_t offset) override {
    while (!bytes.empty()) {
      ssize_t n = ::pwrite(file.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return os_failure("write", "a file");
      bytes.remove_prefix(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  base::Result<void> truncate(const File& file, std::uint64_t size) override {
    if (::ftruncate(file.fd(), static_cast<off_t>(size)) != 0) return os_failure("truncate", "a file");
    return {};
  }

  base::Result<void> link(int fd, const std::string& to) override {
    auto from = fmt::format("/proc/self/fd/{}", fd);
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) != 0) return os_failure("link", to);
    return {};
  }

  base::Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return os_failure("rename", fmt::format("{} to {}", from, to));
    return {};
  }

  base::Result<void> remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return os_failure("remove", path);
    return {};
  }

  base::Result<void> make_directory(const std::string& path, mode_t mode) override {
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return os_failure("make the folder", path);
    return {};
  }

  base::Result<void> sync_file(const std::string& path) override { return sync_through(path, 0, ::fsync, "sync"); }
  base::Result<void> sync_directory(const std::string& path) override {
    return sync_through(path, O_DIRECTORY, ::fsync, "sync the folder");
  }
  base::Result<void> sync_everything(const std::string& path) override {
    return sync_through(path, O_DIRECTORY, ::syncfs, "sync the file system of");
  }
};

}  // namespace

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int File::release() { return std::exchange(fd_, -1); }

void File::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

FileSystem& linux_file_system() {
  static LinuxFileSystem instance;
  return instance;
}

base::Result<void> write_file_durably(FileSystem& files, const std::string& path, std::string_view bytes, mode_t mode) {
  auto temporary = path + ".new";
  {
    LATHE_TRY(auto file, files.open_or_create(temporary, mode));
    LATHE_TRY_VOID(files.truncate(file, 0));
    LATHE_TRY_VOID(files.write(file, bytes, 0));
  }
  LATHE_TRY_VOID(files.sync_file(temporary));
  LATHE_TRY_VOID(files.rename(temporary, path));
  auto slash = path.rfind('/');
  return files.sync_directory(slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1)));
}

}  // namespace lathe::sys

#include "runner/run_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/strings.h"

namespace lathe::runner {
namespace {

constexpr int kMaxDepth = 64;

int open_beneath(int folder, const std::string& path, std::uint64_t flags, std::uint64_t resolve) {
  open_how how{.flags = flags | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve};
  for (;;) {
    long fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
    if (fd >= 0 || errno != EAGAIN) return static_cast<int>(fd);  // EAGAIN: something was renamed meanwhile
  }
}

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

base::Error open_error(int number, const std::string& path) {
  if (number == EXDEV || number == ELOOP)
    return base::Error(base::Code::forbidden, "a link that leaves the run folder");
  if (number == ENOENT) return base::Error(base::Code::not_found, "it is gone, or a link to nothing");
  if (number == ENXIO) return base::Error(base::Code::unsupported, "not a file");
  return base::errno_error(number, fmt::format("opening {}", base::printable(path)));
}

}  // namespace

base::Result<RunFolder> RunFolder::open(const std::filesystem::path& path) {
  sys::Fd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return base::fail(base::errno_error(errno, fmt::format("opening {}", path.string())));
  return RunFolder(std::move(fd));
}

base::Result<OpenFile> RunFolder::open_file(const std::string& path) const {
  OpenFile file;
  // O_NONBLOCK: a pipe must not hold us up before we can see that it is one.
  file.fd.reset(open_beneath(folder_.get(), path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0));
  if (!file.fd) return base::fail(open_error(errno, path));
  struct stat status{};
  if (::fstat(file.fd.get(), &status) != 0) return base::fail(open_error(errno, path));
  if (!S_ISREG(status.st_mode)) return base::fail(base::Code::unsupported, "not a file");
  file.stamp = {status.st_ino, static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim),
                nanoseconds(status.st_ctim)};
  file.executable = (status.st_mode & S_IXUSR) != 0;
  return file;
}

base::Result<sys::Fd> RunFolder::open_folder(const std::string& path) const {
  sys::Fd fd(open_beneath(folder_.get(), path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS));
  if (!fd) return base::fail(open_error(errno, path));
  return fd;
}

Listing RunFolder::list(const std::string& top) const {
  Listing listing;
  list_folder(top, 0, listing);
  return listing;
}

void RunFolder::list_folder(const std::string& path, int depth, Listing& listing) const {
  auto fd = open_folder(path);
  if (!fd) return;
  if (depth > kMaxDepth) return listing.skipped.push_back(path + ": nested too deeply");
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(fd->release()), ::closedir);
  if (!folder) return;
  listing.folders.push_back(path);
  while (const dirent* entry = ::readdir(folder.get())) {
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    std::string child = path + "/" + std::string(name);
    unsigned char type = entry->d_type;
    if (struct stat status{};
        type == DT_UNKNOWN && ::fstatat(::dirfd(folder.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      type = IFTODT(status.st_mode);
    if (type == DT_DIR) {
      list_folder(child, depth + 1, listing);
    } else if (type == DT_REG) {
      listing.files.push_back(std::move(child));
    } else if (auto file = open_file(child); file) {
      listing.files.push_back(std::move(child));
    } else {
      listing.skipped.push_back(child + ": " + file.error().message());
    }
  }
}

base::Result<void> RunFolder::put_file(const std::string& name, std::string_view text) const {
  sys::Fd fd(::openat(folder_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd && errno == EEXIST) return {};
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return base::fail(base::errno_error(errno, "writing " + name));
  return {};
}

}  // namespace lathe::runner

#include "cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"

namespace lathe::cli {

base::Result<std::string> read_small_file(const std::filesystem::path& file, std::size_t limit) {
  int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return base::fail(base::errno_error(errno, file.string()));
  std::string out;
  char buffer[4096];
  for (;;) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || out.size() > limit) {
      int number = n < 0 ? errno : 0;
      ::close(fd);
      if (number) return base::fail(base::errno_error(number, file.string()));
      if (out.size() > limit)
        return base::fail(base::Code::too_large, "{} is larger than {} bytes", file.string(), limit);
      return out;
    }
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

base::Result<void> replace_file(const std::filesystem::path& file, std::string_view content, unsigned mode) {
  auto temporary = file;
  temporary += fmt::format(".{}.new", base::to_hex(base::random_bytes(4)));
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return base::fail(base::errno_error(errno, temporary.string()));
  bool written =
      ::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()) && ::fsync(fd) == 0;
  int number = errno;
  ::close(fd);
  if (written && ::rename(temporary.c_str(), file.c_str()) == 0) return {};
  if (written) number = errno;
  ::unlink(temporary.c_str());
  return base::fail(base::errno_error(number, file.string()));
}

}  // namespace lathe::cli

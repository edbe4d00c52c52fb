#include "sys/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "sys/fd.h"

namespace lathe::sys {

base::Result<std::string> read_small_file(const std::filesystem::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return base::fail(base::errno_error(errno, fmt::format("opening {}", path.string())));
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd.get(), buffer, sizeof buffer)) != 0;) {
    if (n < 0) return base::fail(base::errno_error(errno, fmt::format("reading {}", path.string())));
    out.append(buffer, static_cast<std::size_t>(n));
  }
  return out;
}

base::Result<void> write_small_file(const std::filesystem::path& path, std::string_view text) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return base::fail(base::errno_error(errno, fmt::format("writing {}", path.string())));
  return {};
}

}  // namespace lathe::sys

#include "cas/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace lathe::cas {

sys::File open_beneath(int folder_fd, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const char* name = path.empty() ? "." : path.c_str();
  for (;;) {
    auto fd = static_cast<int>(::syscall(SYS_openat2, folder_fd, name, &how, sizeof how));
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN)) return sys::File(fd);  // EAGAIN: a rename raced with the check
  }
}

}  // namespace lathe::cas

#include "sys/fd.h"

#include <fcntl.h>

#include <cerrno>

namespace lathe::sys {

base::Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail(base::errno_error(errno, "making a pipe"));
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace lathe::sys

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/server_lock.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

// <sys/pidfd.h> of glibc 2.36 cannot be linked from C++.
int open_process(pid_t process) { return static_cast<int>(::syscall(SYS_pidfd_open, process, 0)); }
bool send_signal(int handle, int signal) { return ::syscall(SYS_pidfd_send_signal, handle, signal, nullptr, 0) == 0; }

constexpr std::array kOptions{
    Option{.name = "timeout", .value = "S", .help = "how long to wait for it to drain", .fallback = "60"}};

base::Result<int> stop(pid_t process, const std::filesystem::path& state, std::int64_t seconds) {
  int handle = open_process(process);
  if (handle < 0 && errno == ESRCH) return 0;
  if (handle < 0) return base::fail(base::errno_error(errno, fmt::format("process {}", process)));
  // Looked at again with the handle held: the number may meanwhile belong to somebody else.
  bool still = lock_holder(state) == process;
  bool told = !still || send_signal(handle, SIGTERM);
  int number = errno;
  pollfd wait{.fd = handle, .events = POLLIN, .revents = 0};
  int ended = still && told ? ::poll(&wait, 1, static_cast<int>(seconds * 1000)) : 1;
  ::close(handle);
  if (!told) return base::fail(base::errno_error(number, fmt::format("stopping process {}", process)));
  if (ended == 1) return 0;
  return base::fail(
      base::Error(base::Code::timeout, fmt::format("process {} still drains after {} s", process, seconds))
          .hint("wait longer with --timeout; runs are safe even if it is killed"));
}

base::Result<int> down(Call& call) {
  LATHE_TRY(auto seconds, call.arguments.number("timeout", 60, 1, 86'400));
  auto process = lock_holder(call.settings.state);
  if (!process) {
    say("no server runs on {}", call.settings.state.string());
    return 0;
  }
  LATHE_TRY_VOID(stop(*process, call.settings.state, seconds));
  say("stopped; runs go on, and `lathe up` finds them again");
  return 0;
}

}  // namespace

constinit const Command kDown{
    .path = "down", .summary = "Stop this user's server; runs go on", .options = kOptions, .run = down};

}  // namespace lathe::cli

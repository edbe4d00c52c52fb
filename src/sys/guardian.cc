#include "sys/guardian.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>

#include "sys/guard.h"
#include "sys/process_tree.h"
#include "sys/socket_message.h"

namespace lathe::sys {

base::Result<Guardian> Guardian::start(const SpawnRequest& program, GuardianOrder order) {
  LATHE_TRY(SocketPair pair, make_socket_pair());
  prepare_process_tree();
  pid_t pid = ::fork();
  if (pid < 0) return base::fail(base::errno_error(errno, "starting the guardian"));
  if (pid == 0) {
    ::prctl(PR_SET_NAME, "lathe-guardian");
    auto keep = order.keep;
    keep.insert(keep.end(), program.cgroups.begin(), program.cgroups.end());
    keep.insert(keep.end(), {pair.theirs.get(), program.input, program.output, program.error});
    close_all_except(std::move(keep));
    stand_guard(pair.theirs.get(), {.order = order}, program);
  }
  return Guardian(pid, std::move(pair.ours));
}

void Guardian::terminate() { ::send(control_.get(), &kTerminate, 1, MSG_NOSIGNAL); }
void Guardian::kill() { ::send(control_.get(), &kKill, 1, MSG_NOSIGNAL); }

std::optional<GuardianReport> Guardian::read_report() {
  GuardianReport report;
  ssize_t n = 0;
  do n = ::recv(control_.get(), &report, sizeof report, 0);
  while (n < 0 && errno == EINTR);
  const bool whole = n == static_cast<ssize_t>(sizeof report);
  if (!whole || report.unkillable == 0) wait_until_gone(kKillLimit);
  if (whole) return report;
  return std::nullopt;
}

bool Guardian::wait_until_gone(std::chrono::milliseconds limit) const {
  if (::waitpid(pid_, nullptr, WNOHANG) != 0) return true;  // reaped, now or before
  // Not reaped: the pid is still its own.
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd wait{process.get(), POLLIN, 0};
  if (process) ::poll(&wait, 1, static_cast<int>(limit.count()));
  return ::waitpid(pid_, nullptr, process ? WNOHANG : 0) != 0;
}

}  // namespace lathe::sys

#include "sys/guardian.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "sys/process_tree.h"

namespace lathe::sys {
namespace {

constexpr auto kKillLimit = std::chrono::seconds(60);
constexpr char kTerminate = 'T', kKill = 'K';

// The life of the guardian, in its own process. Leaves by _exit: the objects in its memory are not its own.
class Guard {
 public:
  Guard(int control, const GuardianOrder& order) : control_(control), order_(order) {}

  [[noreturn]] void run(const SpawnRequest& program) {
    ::prctl(PR_SET_NAME, "lathe-guardian");
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);  // it ends when its program has, or we
    auto children = block_signals({SIGCHLD});
    auto ready = become_subreaper();
    auto child = children && ready ? spawn(program) : base::fail(ready ? children.error() : ready.error());
    // The output ends when the last process of the program has closed it.
    ::close(program.output);
    if (program.error != program.output) ::close(program.error);
    if (!child) give_up(child.error());
    report_.started = true;
    program_ = child->pid;
    while (!ended_) wait_once(children->get());
    order_.leaves_daemons && !killed_ ? end_group() : end_leftovers();
    send_report();
  }

 private:
  [[noreturn]] void give_up(const base::Error& error) {
    std::string text = error.text();
    text.copy(report_.start_error, sizeof report_.start_error - 1);
    report_.start_code = error.code();
    send_report();
  }

  [[noreturn]] void send_report() {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    auto seconds = [](timeval time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    report_.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    report_.peak_process_bytes = std::int64_t{usage.ru_maxrss} * 1024;
    ::send(control_, &report_, sizeof report_, MSG_NOSIGNAL);
    ::_exit(0);
  }

  void wait_once(int children) {
    pollfd waits[] = {{control_, POLLIN, 0}, {children, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0) return;
    if (waits[0].revents != 0) obey();
    if (waits[1].revents != 0) reap(children);
  }

  void obey() {
    char order = 0;
    ssize_t n = ::recv(control_, &order, 1, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) outlive_owner();
    if (order == kTerminate) signal_descendants(::getpid(), SIGTERM);
    if (order == kKill) kill_now();
  }

  void kill_now() {
    killed_ = true;
    if (order_.group) order_.group->kill_all();
    signal_descendants(::getpid(), SIGKILL);
  }

  [[noreturn]] void outlive_owner() {
    end_leftovers();
    if (order_.group) order_.group->remove();
    if (order_.last_words) order_.last_words();
    ::_exit(0);
  }

  void reap(int children) {
    take_signals(children);
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != program_) continue;  // an orphan that had come to us
      report_.wait_status = status;
      ended_ = true;
    }
  }

  void end_group() {
    for (pid_t pid : descendants(::getpid()))
      if (::getpgid(pid) == program_) ::kill(pid, SIGKILL);
  }

  void end_leftovers() {
    if (::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;  // the usual case: none
    if (order_.group) order_.group->kill_all();
    report_.unkillable = kill_own_descendants(kKillLimit);
  }

  const int control_;
  const GuardianOrder& order_;
  GuardianReport report_;
  pid_t program_ = 0;
  bool ended_ = false, killed_ = false;
};

}  // namespace

base::Result<Guardian> Guardian::start(const SpawnRequest& program, GuardianOrder order) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return base::fail(base::errno_error(errno, "making a socket pair"));
  Fd ours(ends[0]), theirs(ends[1]);
  pid_t pid = ::fork();
  if (pid < 0) return base::fail(base::errno_error(errno, "starting the guardian"));
  if (pid == 0) {
    auto keep = order.keep;
    keep.insert(keep.end(), program.cgroups.begin(), program.cgroups.end());
    keep.insert(keep.end(), {theirs.get(), program.input, program.output, program.error});
    close_all_except(std::move(keep));
    Guard(theirs.get(), order).run(program);
  }
  return Guardian(pid, std::move(ours));
}

void Guardian::terminate() { ::send(control_.get(), &kTerminate, 1, MSG_NOSIGNAL); }
void Guardian::kill() { ::send(control_.get(), &kKill, 1, MSG_NOSIGNAL); }

std::optional<GuardianReport> Guardian::read_report() {
  GuardianReport report;
  ssize_t n = ::recv(control_.get(), &report, sizeof report, 0);
  const bool whole = n == static_cast<ssize_t>(sizeof report);
  ::waitpid(pid_, nullptr, 0);
  if (whole) return report;
  return std::nullopt;
}

}  // namespace lathe::sys

#include "sys/guard.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "sys/process_tree.h"

namespace lathe::sys {
namespace {

constexpr int kShortagePause = 500;  // milliseconds

class Guard {
 public:
  Guard(int control, const GuardDuty& duty) : control_(control), duty_(duty), order_(duty.order) {}

  [[noreturn]] void run(const SpawnRequest& program) {
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);  // it ends when its program has, or we
    auto children = block_signals({SIGCHLD});
    auto ready = duty_.is_first ? base::Result<void>() : become_subreaper();
    auto child = children && ready ? spawn(program) : base::fail(ready ? children.error() : ready.error());
    while (!child && duty_.is_first && child.error().code() == base::Code::unavailable && is_still_wanted())
      child = spawn(program);
    // The output ends when the last process of the program has closed it.
    ::close(program.output);
    if (program.error != program.output) ::close(program.error);
    if (!child) give_up(child.error());
    report_.started = true;
    program_ = child->pid;
    while (!ended_) wait_once(children->get());
    order_.leaves_daemons && !killed_ ? end_group() : end_leftovers();
    leave(true);
  }

 private:
  // The machine is short of processes or memory, and a box cannot be made twice: we wait here. False when we are told to
  // stop.
  bool is_still_wanted() {
    pollfd wait{control_, POLLIN, 0};
    if (::poll(&wait, 1, kShortagePause) == 0) return true;
    char order = 0;
    if (::recv(control_, &order, 1, MSG_DONTWAIT) <= 0) ::_exit(0);  // our owner is gone, and nothing was started
    return false;
  }

  [[noreturn]] void give_up(const base::Error& error) {
    std::string text = error.text();
    text.copy(report_.start_error, sizeof report_.start_error - 1);
    report_.start_code = error.code();
    leave(true);
  }

  void send_report() {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    auto seconds = [](timeval time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    report_.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    report_.peak_process_bytes = std::int64_t{usage.ru_maxrss} * 1024;
    ::send(control_, &report_, sizeof report_, MSG_NOSIGNAL);
  }

  // Who hangs in the kernel keeps us here, for somebody else to see.
  [[noreturn]] void leave(bool has_owner) {
    if (has_owner) send_report();
    while (report_.unkillable > 0 && (::wait(nullptr) > 0 || errno == EINTR)) {
    }
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
    if (order == kTerminate) signal_all(SIGTERM);
    if (order == kKill) kill_now();
  }

  void signal_all(int signal) {
    if (!duty_.is_first) return signal_descendants(::getpid(), signal);
    ::kill(-1, signal);  // everybody but process 1
    if (signal == SIGTERM) ::kill(-1, SIGCONT);
  }

  void kill_now() {
    killed_ = true;
    if (order_.group) order_.group->kill_all();
    signal_all(SIGKILL);
  }

  [[noreturn]] void outlive_owner() {
    end_leftovers();
    if (order_.group) order_.group->remove();
    if (order_.last_words) order_.last_words();
    leave(false);
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
    report_.unkillable = kill_own_descendants(kKillLimit, [this] { signal_all(SIGKILL); });
  }

  const int control_;
  const GuardDuty& duty_;
  const GuardianOrder& order_;
  GuardianReport report_;
  pid_t program_ = 0;
  bool ended_ = false, killed_ = false;
};

}  // namespace

void stand_guard(int control, const GuardDuty& duty, const SpawnRequest& program) { Guard(control, duty).run(program); }

}  // namespace lathe::sys

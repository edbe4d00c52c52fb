#include "sys/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>

namespace lathe::sys {
namespace {

// The child shares our memory until its exec, which saves a copy of all page tables. ThreadSanitizer takes every clone
// for a fork and loses its way in such a child.
#if __has_feature(thread_sanitizer)
constexpr int kCloneFlags = CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
#else
constexpr int kCloneFlags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
#endif

// What went wrong, told by the child in a page that both see in any case.
struct Failure {
  int error = 0;
  const char* step = "";
};
struct Unmap {
  void operator()(Failure* page) const { ::munmap(page, sizeof *page); }
};
using SharedFailure = std::unique_ptr<Failure, Unmap>;

base::Result<SharedFailure> make_shared_failure() {
  void* page = ::mmap(nullptr, sizeof(Failure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return base::fail(base::errno_error(errno, "starting a process"));
  return SharedFailure(new (page) Failure);
}

struct Launch {
  const SpawnRequest& request;
  char* const* argv;
  char* const* environment;
  int null_fd;
  pid_t parent;
  Failure& failure;
};

int give_up(Launch& launch, const char* step) {
  launch.failure = {errno, step};
  _exit(127);
}

// Between clone and exec: system calls only.
int run_child(void* argument) {
  auto& launch = *static_cast<Launch*>(argument);
  const SpawnRequest& request = launch.request;
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  ::setsid();
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return give_up(launch, "tying it to its parent");
  if (::getppid() != launch.parent) _exit(127);  // the parent died before the line above
  for (int group : request.cgroups)
    if (::write(group, "0", 1) != 1) return give_up(launch, "joining its cgroup");
  const int sources[] = {request.input, request.output, request.error};
  for (int target = 0; target < 3; ++target)
    if (::dup2(sources[target] < 0 ? launch.null_fd : sources[target], target) < 0)
      return give_up(launch, "connecting its output");
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  if (request.confinement)
    if (const char* step = confine(*request.confinement)) return give_up(launch, step);
  // Only now: with the eyes of whoever it has become.
  if (!request.directory.empty() && ::chdir(request.directory.c_str()) != 0)
    return give_up(launch, "entering its folder");
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(launch.argv[0], launch.argv, launch.environment);
  return give_up(launch, "executing it");
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

base::Result<Child> spawn(const SpawnRequest& request) {
  constexpr std::size_t kStackBytes = 64 * 1024;
  auto stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  auto argv = pointers(request.argv), environment = pointers(request.environment);
  // Above the standard three, so that dup2 below never overwrites a source.
  Fd null_fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_fd) return base::fail(base::errno_error(errno, "opening /dev/null"));
  LATHE_TRY(auto failure, make_shared_failure());
  Launch launch{request, argv.data(), environment.data(), null_fd.get(), ::getpid(), *failure};

  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // a handler must not run in the child on our memory
  int pidfd = -1;
  int pid = ::clone(run_child, stack.get() + kStackBytes, kCloneFlags, &launch, &pidfd);
  int clone_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return base::fail(base::errno_error(clone_error, "starting a process"));

  Child child{pid, Fd(pidfd)};
  if (failure->error == 0) return child;
  ::waitpid(pid, nullptr, 0);
  return base::fail(base::errno_error(failure->error, fmt::format("starting {}, {}", request.argv[0], failure->step)));
}

base::Result<Fd> block_signals(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : signals) sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return base::fail(base::errno_error(errno, "making a signal descriptor"));
  return fd;
}

bool take_signals(int signal_fd) {
  signalfd_siginfo signal{};
  bool some = false;
  while (::read(signal_fd, &signal, sizeof signal) > 0) some = true;
  return some;
}

void protect_memory() {
  ::prctl(PR_SET_DUMPABLE, 0);
  rlimit core{};
  if (::getrlimit(RLIMIT_CORE, &core) != 0) return;
  core.rlim_cur = 0;
  ::setrlimit(RLIMIT_CORE, &core);
}

void close_all_except(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned int next = 3;
  for (int fd : keep) {
    if (fd < static_cast<int>(next)) continue;
    if (static_cast<unsigned int>(fd) > next) ::syscall(SYS_close_range, next, static_cast<unsigned int>(fd) - 1, 0);
    next = static_cast<unsigned int>(fd) + 1;
  }
  ::syscall(SYS_close_range, next, ~0U, 0);
}

}  // namespace lathe::sys

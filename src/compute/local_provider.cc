#include "compute/local_provider.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"
#include "base/strings.h"
#include "compute/task_folder.h"
#include "sys/process_tree.h"

namespace lathe::compute {

namespace fs = std::filesystem;

namespace {

// A pidfd of the process that the handle names; none when that process is gone. Throws when that cannot be told now: a
// runner that lives must not be taken for dead because we are out of descriptors.
sys::Fd open_handle(const std::string& handle) {
  auto parts = base::split(handle, ':');
  auto pid = parts.size() >= 2 ? base::parse_u64(parts[0]) : std::nullopt;
  if (!pid) return {};
  sys::Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(*pid), 0)));
  const int failure = errno;
  if (!fd && failure == ESRCH) return {};
  // The order matters: with the pidfd held, the pid cannot be given to another process before the check.
  const auto start = sys::process_start(static_cast<pid_t>(*pid));
  if (!start.empty() && start != parts[1]) return {};
  if (!fd) throw base::errno_error(failure, fmt::format("looking at process {}", *pid));
  if (!start.empty()) return fd;
  if (::syscall(SYS_pidfd_send_signal, fd.get(), 0, nullptr, 0) != 0 && errno == ESRCH) return {};
  throw base::Error(base::Code::unavailable, fmt::format("/proc does not tell when process {} started", *pid));
}

struct SpawnActions {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  explicit SpawnActions(int kept) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    // stderr stays the server's log. Everything else is closed: a listening socket held by a runner would keep the
    // port from the next server.
    if (kept >= 0) posix_spawn_file_actions_adddup2(&actions, kept, sys::kForkDescriptor);
    posix_spawn_file_actions_addclosefrom_np(&actions, sys::kForkDescriptor + (kept >= 0 ? 1 : 0));
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (auto& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The server's own environment without what belongs to the server alone.
std::vector<std::string> inherited_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("LATHE_")) out.emplace_back(*entry);
  return out;
}

// `kept` becomes descriptor 3 of the new process.
base::Result<pid_t> execute_program(std::vector<std::string> arguments, std::vector<std::string> environment,
                                    int kept) {
  const SpawnActions setup(kept);
  auto argv = pointers(arguments);
  auto envp = pointers(environment);
  pid_t pid = 0;
  int error = posix_spawnp(&pid, argv[0], &setup.actions, &setup.attributes, argv.data(), envp.data());
  if (error != 0) return base::fail(base::errno_error(error, "start " + arguments[0]));
  return pid;
}

}  // namespace

std::string TaskName::text() const { return fmt::format("{}.{}.{}", run_sequence, attempt, node); }

LocalProvider::LocalProvider(LocalConfig config, rt::Loop& home, rt::BlockingPool& pool)
    : config_(std::move(config)), home_(home), pool_(pool), spares_(config_.work), forks_([this](int socket) {
        return start_fork_server(socket);
      }) {}

fs::path LocalProvider::folder(const TaskName& task) const { return config_.work / task.text(); }

// Its last word is only room: what it starts shows its own words there (sys/process_title.h).
base::Result<void> LocalProvider::start_fork_server(int socket) {
  if (fork_server_ > 0) ::waitpid(fork_server_, nullptr, 0);  // it has died, or it could still be asked
  std::vector<std::string> arguments{config_.program, "fork-server", std::string(sys::kForkRoom, '.')};
  LATHE_TRY(fork_server_, execute_program(std::move(arguments), inherited_environment(), socket));
  return {};
}

base::Result<std::string> LocalProvider::execute(std::vector<std::string> arguments, std::vector<std::string> variables,
                                                 int lock) const {
  arguments.insert(arguments.begin(), config_.launcher.begin(), config_.launcher.end());
  auto environment = inherited_environment();
  environment.insert(environment.end(), variables.begin(), variables.end());
  LATHE_TRY(pid_t pid, execute_program(arguments, std::move(environment), lock));
  if (auto start = sys::process_start(pid); !start.empty()) return fmt::format("{}:{}", pid, start);
  ::kill(pid, SIGKILL);  // without its start time it could not be found again
  ::waitpid(pid, nullptr, 0);
  return base::fail(base::Code::unavailable, "/proc does not tell when {} started", arguments[0]);
}

base::Result<std::string> LocalProvider::start_runner(std::vector<std::string> arguments,
                                                      std::vector<std::string> variables, int lock) {
  if (!config_.launcher.empty()) return execute(std::move(arguments), std::move(variables), lock);
  auto started = forks_.start({arguments, variables, lock});
  if (started || started.error().code() != base::Code::too_large) return started;
  return execute(std::move(arguments), std::move(variables), lock);
}

rt::Task<std::string> LocalProvider::start(RunnerStart start) {
  const auto work = folder(start.task);
  std::vector<std::string> arguments{config_.program, "runner", "--url", start.url, "--work", work};
  std::vector<std::string> variables{"LATHE_RUN_TOKEN=" + start.token, "LATHE_RUN=" + start.run_id,
                                     fmt::format("LATHE_ATTEMPT={}", start.task.attempt),
                                     fmt::format("LATHE_NODE={}", start.task.node)};
  if (config_.descriptors > 0) variables.push_back(fmt::format("LATHE_DESCRIPTORS={}", config_.descriptors));
  variables.insert(variables.end(), config_.variables.begin(), config_.variables.end());
  co_return base::value_or_throw(co_await pool_.run(home_, [&]() -> base::Result<std::string> {
    LATHE_TRY_VOID(check_room(config_.work));
    spares_.give(work);
    LATHE_TRY(sys::Fd lock, take_folder(work));
    return start_runner(std::move(arguments), std::move(variables), lock.get());
  }));
}

rt::Task<std::string> LocalProvider::adopt(TaskName task, std::string url) {
  std::vector<std::string> arguments{config_.program, "runner", "--url", url, "--adopt", folder(task)};
  co_return base::value_or_throw(co_await pool_.run(home_, [&] { return start_runner(std::move(arguments), {}); }));
}

rt::Task<Provider::Found> LocalProvider::find(TaskName task) {
  co_return co_await pool_.run(home_, [&] { return look_at_folder(folder(task)); });
}

rt::Task<bool> LocalProvider::clear(TaskName task) {
  // The usual case after a short run, not worth a thread: the folder is a spare already.
  if (::access(folder(task).c_str(), F_OK) != 0 && errno == ENOENT) co_return true;
  co_return co_await pool_.run(home_, [&] { return spares_.take(folder(task)) || clear_folder(folder(task)); });
}

rt::Task<std::string> LocalProvider::keep(TaskName task) {
  const bool is_kept = co_await pool_.run(home_, [&] { return keep_folder(folder(task)); });
  co_return is_kept ? folder(task).string() : std::string();
}

rt::Task<std::vector<TaskName>> LocalProvider::traces() {
  co_return co_await pool_.run(home_, [&] {
    std::vector<TaskName> out;
    std::error_code failed;
    for (fs::directory_iterator entry(config_.work, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed))
      if (auto task = parse_task(entry->path().filename().string())) out.push_back(*task);
    // Half a list would let go of nodes on which something still lives.
    if (failed && failed != std::errc::no_such_file_or_directory)
      throw base::errno_error(failed.value(), "listing " + config_.work.string());
    return out;
  });
}

rt::Task<void> LocalProvider::gone(std::string handle, rt::CancelToken cancel) {
  const sys::Fd fd = open_handle(handle);
  if (!fd) co_return;
  co_await home_.readable(fd.get(), cancel);
  // A child of ours must be reaped; another process's child is not ours to reap, and this fails harmlessly.
  siginfo_t info{};
  ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(fd.get()), &info, WEXITED | WNOHANG);
}

void LocalProvider::kill(const std::string& handle) try {
  const sys::Fd fd = open_handle(handle);
  if (!fd) return;
  // What a launcher has started holds the folder too; a runner that has a spool leaves the end of its processes to its
  // guardian, which is of the same group and must live.
  if (handle.ends_with(":starting"))
    ::kill(-static_cast<pid_t>(base::parse_u64(base::split(handle, ':')[0]).value()), SIGKILL);
  ::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0);
} catch (const base::Error& error) {
  base::log::error("a runner could not be ended by force", {{"handle", handle}, {"why", error.text()}});
}

}  // namespace lathe::compute

#include "compute/local_provider.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/log.h"
#include "base/strings.h"

namespace lathe::compute {
namespace {

// Field 22 of /proc/PID/stat: when the process started, in clock ticks since boot. Empty when there is none.
std::string start_time(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // The second field is the program's name in parentheses and may hold anything, so count from its end.
  auto close = line.rfind(')');
  if (close == line.npos) return {};
  auto fields = base::split(std::string_view(line).substr(close + 2), ' ');
  return fields.size() > 19 ? std::string(fields[19]) : std::string();
}

// A pidfd of the process that the handle names, or -1 when that process is gone.
int open_handle(const std::string& handle) {
  auto parts = base::split(handle, ':');
  auto pid = parts.size() == 2 ? base::parse_u64(parts[0]) : std::nullopt;
  if (!pid) return -1;
  int fd = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(*pid), 0));
  // The order matters: with the pidfd held, the pid cannot be given to another process before the check.
  if (fd >= 0 && start_time(static_cast<pid_t>(*pid)) != parts[1]) {
    ::close(fd);
    return -1;
  }
  return fd;
}

// The process that holds a flock on the file with this inode, from /proc/locks; 0 when none is listed.
pid_t lock_holder(ino_t inode) {
  std::ifstream file("/proc/locks");
  std::string line, wanted = fmt::format(":{}", inode);
  while (std::getline(file, line)) {
    // "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF"
    std::vector<std::string_view> words;
    for (auto word : base::split(line, ' '))
      if (!word.empty()) words.push_back(word);
    if (words.size() > 5 && words[1] == "FLOCK" && words[5].ends_with(wanted))
      return static_cast<pid_t>(base::parse_u64(words[4]).value_or(0));
  }
  return 0;
}

// A runner holds a lock on its spool as long as it or a process of its run lives.
Provider::Found look_at_spool(const std::filesystem::path& header) {
  int fd = ::open(header.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return {Provider::Trace::none, {}};
  struct stat status {};
  ::fstat(fd, &status);
  bool dead = ::flock(fd, LOCK_SH | LOCK_NB) == 0;
  ::close(fd);
  if (dead) return {Provider::Trace::dead, {}};
  pid_t pid = lock_holder(status.st_ino);
  return {Provider::Trace::alive, fmt::format("{}:{}", pid, start_time(pid))};
}

struct SpawnActions {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnActions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    // stderr stays the server's log. Everything else is closed: a listening socket held by a runner would keep the
    // port from the next server.
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
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

}  // namespace

std::string TaskName::text() const { return fmt::format("{}.{}.{}", run_sequence, attempt, node); }

LocalProvider::LocalProvider(LocalConfig config, rt::Loop& home, rt::BlockingPool& pool)
    : config_(std::move(config)), home_(home), pool_(pool) {}

std::filesystem::path LocalProvider::folder(const TaskName& task) const { return config_.work / task.text(); }

base::Result<std::string> LocalProvider::spawn(std::vector<std::string> arguments,
                                               std::vector<std::string> environment) const {
  arguments.insert(arguments.begin(), config_.launcher.begin(), config_.launcher.end());
  static const SpawnActions spawn_setup;
  auto argv = pointers(arguments);
  auto envp = pointers(environment);
  pid_t pid = 0;
  int error = posix_spawnp(&pid, argv[0], &spawn_setup.actions, &spawn_setup.attributes, argv.data(), envp.data());
  if (error != 0) return base::fail(base::errno_error(error, "start " + arguments[0]));
  return fmt::format("{}:{}", pid, start_time(pid));
}

rt::Task<std::string> LocalProvider::start(RunnerStart start) {
  std::vector<std::string> arguments{config_.program, "runner", "--url", start.url, "--work", folder(start.task)};
  auto environment = inherited_environment();
  environment.push_back("LATHE_RUN_TOKEN=" + start.token);
  environment.push_back("LATHE_RUN=" + start.run_id);
  environment.push_back(fmt::format("LATHE_ATTEMPT={}", start.task.attempt));
  environment.push_back(fmt::format("LATHE_NODE={}", start.task.node));
  co_return base::value_or_throw(co_await pool_.run(
      home_, [&] { return spawn(std::move(arguments), std::move(environment)); }));
}

rt::Task<std::string> LocalProvider::adopt(TaskName task, std::string url) {
  std::vector<std::string> arguments{config_.program, "runner", "--url", url, "--adopt", folder(task)};
  co_return base::value_or_throw(
      co_await pool_.run(home_, [&] { return spawn(std::move(arguments), inherited_environment()); }));
}

rt::Task<Provider::Found> LocalProvider::find(TaskName task) {
  co_return co_await pool_.run(home_, [&] { return look_at_spool(folder(task) / "spool" / "spool.json"); });
}

rt::Task<void> LocalProvider::gone(std::string handle, rt::CancelToken cancel) {
  int fd = open_handle(handle);
  if (fd < 0) co_return;
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  co_await home_.readable(fd, cancel);
  // A child of ours must be reaped; a runner of an earlier server belongs to init, and this fails harmlessly.
  siginfo_t info{};
  ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(fd), &info, WEXITED | WNOHANG);
}

void LocalProvider::kill(const std::string& handle) {
  int fd = open_handle(handle);
  if (fd < 0) return;
  ::syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
  ::close(fd);
}

}  // namespace lathe::compute

#include "compute/task_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/log.h"
#include "base/strings.h"
#include "sys/lock_holders.h"
#include "sys/process_tree.h"

namespace lathe::compute {

namespace fs = std::filesystem;

namespace {

bool is_gone(pid_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  auto close = line.rfind(')');
  return close != line.npos && line.size() > close + 2 && line[close + 2] == 'Z';
}

// What a runner needs before its script writes anything: its folders and files, the reserve for its end.
constexpr std::uint64_t kTaskBytes = 1 << 20, kTaskFiles = 32;

// Runners have their task's folder as an argument.
bool has_argument(pid_t pid, const std::string& wanted) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
  for (std::string argument; std::getline(file, argument, '\0');)
    if (argument == wanted) return true;
  return false;
}

// The process that was started for this folder and has not made its spool. The lock on the folder was taken by the
// server that started it, and /proc/locks names that one; so it is found by its argument. It leads a session of its
// own.
std::string find_starter(const fs::path& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry("/proc", failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    auto pid = static_cast<pid_t>(base::parse_u64(entry->path().filename().string()).value_or(0));
    if (pid <= 0 || ::getsid(pid) != pid || !has_argument(pid, folder.string()) || is_gone(pid)) continue;
    if (auto since = sys::process_start(pid); !since.empty()) return fmt::format("{}:{}:starting", pid, since);
  }
  return {};
}

fs::path header_in(const fs::path& folder) { return folder / "spool" / "spool.json"; }

// A file of the spool that the next runner uses again (docs/formats/spool.md).
bool is_left_empty(const fs::path& file) {
  const auto name = file.filename();
  struct stat status{};
  return (name == "spool.json.new" || name == "order.json" || name == "exit") && ::lstat(file.c_str(), &status) == 0 &&
         S_ISREG(status.st_mode) && status.st_size == 0 && status.st_nlink == 1;
}

// A runner gives the header its name when it is written; only a power cut can take its end away again.
bool is_whole(int fd, off_t size) {
  char last = 0;
  return size > 0 && ::pread(fd, &last, 1, size - 1) == 1 && last == '\n';
}

// A runner holds a lock on its spool as long as it or a process of its run lives.
Provider::Found look_at_spool(const fs::path& folder) {
  const fs::path header = header_in(folder);
  sys::Fd file(::open(header.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return {Provider::Trace::none, {}};
  struct stat status{};
  ::fstat(file.get(), &status);
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0)
    return {is_whole(file.get(), status.st_size) ? Provider::Trace::dead : Provider::Trace::wrecked, {}};
  bool unclear = false;
  for (pid_t pid : sys::lock_holders(status.st_ino)) {
    if (pid > 0 && is_gone(pid)) continue;  // the lock outlives a killed runner until its processes are gone
    auto since = pid > 0 && has_argument(pid, folder.string()) ? sys::process_start(pid) : std::string();
    if (!since.empty()) return {Provider::Trace::alive, fmt::format("{}:{}", pid, since)};
    unclear = true;  // a file with this inode on another disk, or a process that cannot be seen from here
  }
  return {unclear ? Provider::Trace::starting : Provider::Trace::dead, {}};
}

}  // namespace

Provider::Found look_at_folder(const fs::path& folder) {
  sys::Fd file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return {};
  bool locked = ::flock(file.get(), LOCK_SH | LOCK_NB) != 0;
  // In this order: a runner that makes its spool between the two looks is seen by the second.
  auto found = look_at_spool(folder);
  if (found.trace == Provider::Trace::none && locked) return {Provider::Trace::starting, find_starter(folder)};
  return found;
}

bool is_bare(const fs::path& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder / "spool", failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed))
    if (!is_left_empty(entry->path())) return false;
  return !failed;
}

base::Result<void> check_room(const fs::path& work) {
  struct statvfs disk{};
  if (::statvfs(work.c_str(), &disk) != 0) return {};  // whoever makes the folder meets the reason
  const bool counts_files = disk.f_files > 0;
  if (disk.f_bavail * disk.f_frsize >= kTaskBytes && (!counts_files || disk.f_favail >= kTaskFiles)) return {};
  return base::fail(base::Code::no_space, "no room for another run in {}", work.string());
}

base::Result<sys::Fd> take_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  sys::Fd lock(failed ? -1 : ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock) return base::fail(base::errno_error(failed ? failed.value() : errno, "make " + folder.string()));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || ::access(header_in(folder).c_str(), F_OK) == 0)
    return base::fail(base::Code::conflict, "{} is in use by another runner", folder.string());
  // A runner that died while it made its spool leaves a part of it; without a header it has not claimed anything.
  if (!is_bare(folder)) fs::remove_all(folder / "spool", failed);
  return lock;
}

bool clear_folder(const fs::path& folder) {
  auto trace = look_at_folder(folder).trace;
  if (trace == Provider::Trace::alive || trace == Provider::Trace::starting) return false;
  sys::Fd header(::open(header_in(folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (header && ::flock(header.get(), LOCK_EX | LOCK_NB) != 0) return false;
  std::error_code failed;
  fs::remove_all(folder, failed);
  if (failed)
    base::log::warn("a folder of a run that is over stays", {{"folder", folder.string()}, {"why", failed.message()}});
  return true;
}

std::optional<TaskName> parse_task(std::string_view text) {
  auto parts = base::split(text, '.');
  if (parts.size() != 3) return std::nullopt;
  auto run = base::parse_u64(parts[0]), attempt = base::parse_u64(parts[1]), node = base::parse_u64(parts[2]);
  if (!run || !attempt || !node || *run > INT64_MAX || *attempt > INT32_MAX || *node > INT32_MAX) return std::nullopt;
  TaskName task{static_cast<std::int64_t>(*run), static_cast<int>(*attempt), static_cast<int>(*node)};
  return task.text() == text ? std::optional(task) : std::nullopt;
}

}  // namespace lathe::compute

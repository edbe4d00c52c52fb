#include "compute/task_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
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

// Runners have their task's folder as an argument. Throws when we are too short of something to look.
bool has_argument(pid_t pid, const std::string& wanted) {
  const std::string path = fmt::format("/proc/{}/cmdline", pid);
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) throw base::errno_error(errno, "opening " + path);
  std::string text;
  char piece[4096];
  for (ssize_t n; file && (n = ::read(file.get(), piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(n));
  return std::ranges::any_of(base::split(text, '\0'), [&](std::string_view argument) { return argument == wanted; });
}

// Processes of this task, found by their argument.
struct Processes {
  std::string leader;       // handle of the one that leads a session: the runner, or what was started to become it
  bool has_others = false;  // what a runner has forked: its guardian
};

// The lock on a folder was taken by the server that started the runner, and /proc/locks names that server; a folder
// that is not there has no lock at all. An argument cannot be lost.
Processes find_processes(const fs::path& folder) {
  Processes found;
  std::error_code failed;
  for (fs::directory_iterator entry("/proc", failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    auto pid = static_cast<pid_t>(base::parse_u64(entry->path().filename().string()).value_or(0));
    if (pid <= 0 || !has_argument(pid, folder.string()) || is_gone(pid)) continue;
    const auto since = ::getsid(pid) == pid ? sys::process_start(pid) : std::string();
    if (since.empty())
      found.has_others = true;
    else
      found.leader = fmt::format("{}:{}", pid, since);
  }
  if (failed) throw base::errno_error(failed.value(), "looking for the processes of " + folder.string());
  return found;
}

fs::path header_in(const fs::path& folder) { return folder / "spool" / "spool.json"; }
fs::path order_in(const fs::path& folder) { return folder / "spool" / "order.json"; }
fs::path kept_mark_in(const fs::path& folder) { return folder / "undelivered"; }

// Only "there is no such name" means that it is not there: a runner that lives must not be taken for gone because we
// are out of descriptors, or its disk does not answer.
bool is_there(const fs::path& path) {
  if (::access(path.c_str(), F_OK) == 0) return true;
  if (errno == ENOENT) return false;
  throw base::errno_error(errno, "looking at " + path.string());
}

// Nothing when there is no such name; throws for every other reason.
sys::Fd open_existing(const fs::path& path, int flags) {
  sys::Fd fd(::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno != ENOENT) throw base::errno_error(errno, "opening " + path.string());
  return fd;
}

// False while somebody else holds the lock.
bool try_lock(const sys::Fd& fd, int kind, const fs::path& path) {
  if (::flock(fd.get(), kind | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  throw base::errno_error(errno, "locking " + path.string());
}

// A file of the spool that the next runner uses again (docs/formats/spool.md).
bool is_left_empty(const fs::path& file) {
  const auto name = file.filename();
  struct stat status{};
  return (name == "spool.json.new" || name == "order.json" || name == "exit") && ::lstat(file.c_str(), &status) == 0 &&
         S_ISREG(status.st_mode) && status.st_size == 0 && status.st_nlink == 1;
}

struct stat status_of(const sys::Fd& fd, const fs::path& path) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) throw base::errno_error(errno, "looking at " + path.string());
  return status;
}

// A runner gives the header its name when it is written; only a power cut can take its end away again.
bool is_whole(const sys::Fd& fd, off_t size, const fs::path& path) {
  char last = 0;
  if (size <= 0) return false;
  if (::pread(fd.get(), &last, 1, size - 1) < 0) throw base::errno_error(errno, "reading " + path.string());
  return last == '\n';
}

// The order is written before anything of the user's is started.
bool has_order(const fs::path& folder) {
  struct stat status{};
  if (::lstat(order_in(folder).c_str(), &status) == 0) return status.st_size > 0;
  if (errno == ENOENT) return false;
  throw base::errno_error(errno, "looking at " + order_in(folder).string());
}

// A runner holds a lock on its spool as long as it or a process of its run lives.
Provider::Found look_at_spool(const fs::path& folder) {
  using Trace = Provider::Trace;
  const fs::path header = header_in(folder);
  const sys::Fd file = open_existing(header, 0);
  if (!file) return {};
  const struct stat status = status_of(file, header);
  if (try_lock(file, LOCK_SH, header))
    return {.trace = is_whole(file, status.st_size, header) ? Trace::dead : Trace::wrecked,
            .has_order = has_order(folder)};
  bool unclear = false;
  for (pid_t pid : sys::lock_holders(status.st_ino)) {
    if (pid > 0 && is_gone(pid)) continue;  // the lock outlives a killed runner until its processes are gone
    auto since = pid > 0 && has_argument(pid, folder.string()) ? sys::process_start(pid) : std::string();
    if (!since.empty())
      return {.trace = Trace::alive,
              .handle = fmt::format("{}:{}", pid, since),
              .only_delivers = has_argument(pid, "--adopt"),
              .is_locked = true};
    unclear = true;  // a file with this inode on another disk, or a process that cannot be seen from here
  }
  return {.trace = unclear ? Trace::starting : Trace::dead, .is_locked = true, .has_order = has_order(folder)};
}

// The folder is not there: never made, removed after the delivery, or moved away under a runner that lives.
Provider::Found look_for_processes(const fs::path& folder) {
  auto found = find_processes(folder);
  if (!found.leader.empty())
    return {.trace = Provider::Trace::alive, .handle = std::move(found.leader), .is_locked = true};
  return {.trace = found.has_others ? Provider::Trace::starting : Provider::Trace::none,
          .is_locked = found.has_others};
}

bool has_bytes(const fs::path& file) {
  struct stat status{};
  return ::lstat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

// Whether a runner or its script has left anything that nobody has got: output, files to keep, metrics.
bool has_undelivered(const fs::path& folder) {
  if (!is_there(header_in(folder)) && is_bare(folder)) return false;
  if (is_there(folder / "spool" / "delivered")) return false;
  for (const char* place : {"run/outputs", "run/logs", "run/.lathe-outputs", "metrics", "spool"}) {
    const bool is_spool = std::string_view(place) == "spool";
    std::error_code failed;
    for (fs::recursive_directory_iterator entry(folder / place, failed);
         !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed))
      if ((!is_spool || entry->path().filename().string().starts_with("log.")) && has_bytes(entry->path())) return true;
    if (failed && failed != std::errc::no_such_file_or_directory)
      throw base::errno_error(failed.value(), "looking into " + (folder / place).string());
  }
  return false;
}

}  // namespace

Provider::Found look_at_folder(const fs::path& folder) {
  const sys::Fd file = open_existing(folder, O_DIRECTORY);
  if (!file) return look_for_processes(folder);
  const bool is_free = try_lock(file, LOCK_SH, folder);
  // In this order: a runner that makes its spool between the two looks is seen by the second.
  auto found = look_at_spool(folder);
  if (found.trace != Provider::Trace::none || is_free) return found;
  auto starter = find_processes(folder).leader;
  if (!starter.empty()) starter += ":starting";
  return {.trace = Provider::Trace::starting, .handle = std::move(starter), .is_locked = true};
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

base::Result<sys::Fd> take_folder(const fs::path& folder) try {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return base::fail(base::errno_error(failed.value(), "make " + folder.string()));
  sys::Fd lock = open_existing(folder, O_DIRECTORY);
  if (!lock) return base::fail(base::errno_error(ENOENT, "open " + folder.string()));
  if (!try_lock(lock, LOCK_EX, folder) || is_there(header_in(folder)))
    return base::fail(base::Code::conflict, "{} is in use by another runner", folder.string());
  // A runner that died while it made its spool leaves a part of it; without a header it has not claimed anything.
  if (!is_bare(folder)) fs::remove_all(folder / "spool", failed);
  if (failed) return base::fail(base::errno_error(failed.value(), "empty " + folder.string()));
  return lock;
} catch (const base::Error& error) {
  return base::fail(error);
}

bool clear_folder(const fs::path& folder) {
  if (look_at_folder(folder).is_locked) return false;
  const sys::Fd header = open_existing(header_in(folder), 0);
  if (header && !try_lock(header, LOCK_EX, header_in(folder))) return false;
  if (is_there(kept_mark_in(folder))) return true;
  std::error_code failed;
  fs::remove_all(folder, failed);
  if (failed)
    base::log::warn("a folder of a run that is over stays", {{"folder", folder.string()}, {"why", failed.message()}});
  return true;
}

bool keep_folder(const fs::path& folder) {
  if (!is_there(folder) || !has_undelivered(folder)) return false;
  const fs::path mark = kept_mark_in(folder);
  const sys::Fd made(::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  const sys::Fd parent = open_existing(folder, O_DIRECTORY);
  if (!made || ::fsync(made.get()) != 0 || !parent || ::fsync(parent.get()) != 0)
    throw base::errno_error(errno, "marking " + mark.string());
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

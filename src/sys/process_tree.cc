#include "sys/process_tree.h"

#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <map>
#include <memory>
#include <string>

#include "base/strings.h"
#include "sys/fd.h"
#include "sys/small_file.h"

namespace lathe::sys {
namespace {

// A process that has ended meanwhile reads as empty.
std::string read_proc(const std::string& path) { return read_small_file(path).value_or(""); }

std::vector<pid_t> numbers_in_folder(const std::string& path) {
  std::vector<pid_t> out;
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  while (folder) {
    const dirent* entry = ::readdir(folder.get());
    if (!entry) break;
    if (auto number = base::parse_u64(entry->d_name)) out.push_back(static_cast<pid_t>(*number));
  }
  return out;
}

// Field 4 of /proc/PID/stat; the name before it may hold anything, also ") ".
pid_t parent_of(pid_t pid) {
  std::string stat = read_proc(fmt::format("/proc/{}/stat", pid));
  std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > stat.size()) return 0;
  pid_t parent = 0;
  std::from_chars(stat.data() + name_end + 4, stat.data() + stat.size(), parent);
  return parent;
}

void append_children(pid_t pid, std::vector<pid_t>& out) {
  for (pid_t thread : numbers_in_folder(fmt::format("/proc/{}/task", pid)))
    for (auto word : base::split(read_proc(fmt::format("/proc/{}/task/{}/children", pid, thread)), ' '))
      if (auto child = base::parse_u64(word)) out.push_back(static_cast<pid_t>(*child));
}

// For kernels without /proc/PID/task/TID/children: everybody's parent, once.
std::vector<pid_t> descendants_by_scan(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (pid_t pid : numbers_in_folder("/proc")) children.emplace(parent_of(pid), pid);
  std::vector<pid_t> out;
  auto add_children_of = [&](pid_t parent) {
    for (auto [at, end] = children.equal_range(parent); at != end; ++at) out.push_back(at->second);
  };
  add_children_of(root);
  for (std::size_t i = 0; i < out.size(); ++i) add_children_of(out[i]);
  return out;
}

bool has_children_files() {
  static const bool kHasThem = ::access("/proc/thread-self/children", R_OK) == 0;
  return kHasThem;
}

// Reaps what has ended; false when there is no child at all.
bool reap_ended() {
  for (;;) {
    pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0) return errno != ECHILD;
  }
}

}  // namespace

std::string process_start(pid_t pid) {
  std::string stat = read_proc(fmt::format("/proc/{}/stat", pid));
  std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 > stat.size()) return {};
  auto fields = base::split(std::string_view(stat).substr(name_end + 2), ' ');
  return fields.size() > 19 ? std::string(fields[19]) : std::string();
}

base::Result<void> become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return base::fail(base::errno_error(errno, "becoming a subreaper"));
  return {};
}

std::vector<pid_t> descendants(pid_t root) {
  if (!has_children_files()) return descendants_by_scan(root);
  std::vector<pid_t> out;
  append_children(root, out);
  for (std::size_t i = 0; i < out.size(); ++i) append_children(out[i], out);
  return out;
}

void signal_descendants(pid_t root, int signal) {
  for (pid_t pid : descendants(root)) {
    Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // The descriptor names one process for ever; seen below our root after it was opened, it is the right one.
    bool ours = false;
    for (pid_t up = parent_of(pid); pidfd && !ours && up > 1; up = parent_of(up)) ours = up == root;
    if (!ours) continue;
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
    if (signal == SIGTERM) ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGCONT, nullptr, 0);
  }
}

void prepare_process_tree() { has_children_files(); }

int kill_own_descendants(std::chrono::milliseconds limit, const std::function<void()>& kill_all) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (reap_ended()) {
    kill_all ? kill_all() : signal_descendants(::getpid(), SIGKILL);
    if (!reap_ended()) return 0;
    if (std::chrono::steady_clock::now() > deadline)
      return std::max(1, static_cast<int>(descendants(::getpid()).size()));
    ::poll(nullptr, 0, 1);  // the kernel needs a moment to end them
  }
  return 0;
}

TreeUsage tree_usage(pid_t root) {
  static const long page = ::sysconf(_SC_PAGESIZE);
  TreeUsage usage;
  for (pid_t pid : descendants(root)) {
    std::string statm = read_proc(fmt::format("/proc/{}/statm", pid));
    auto words = base::split(statm, ' ');
    if (words.size() < 2) continue;
    ++usage.processes;
    usage.resident_bytes += static_cast<std::int64_t>(base::parse_u64(words[1]).value_or(0)) * page;
  }
  return usage;
}

}  // namespace lathe::sys

#include "sys/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>

#include "base/strings.h"
#include "sys/idle_cgroups.h"
#include "sys/small_file.h"

namespace lathe::sys {
namespace {

namespace fs = std::filesystem;

bool lists_word(std::string_view list, std::string_view word, char separator) {
  for (auto part : base::split(base::trim(list), separator))
    if (part == word) return true;
  return false;
}

// Controllers of a v2 folder can be given to its children only while it has no processes of its own; a service manager
// that delegates has done it already.
bool gives_memory(const fs::path& folder) {
  auto given = [&] {
    return lists_word(read_small_file(folder / "cgroup.subtree_control").value_or(""), "memory", ' ');
  };
  if (given()) return true;
  (void)write_small_file(folder / "cgroup.subtree_control", "+memory +cpu");
  return given();
}

// Our weight scale is a thousand per core; 100 is the kernel's default weight, 1024 its default of shares.
std::int64_t weight_of(std::int64_t millicores) { return std::clamp<std::int64_t>(millicores / 10, 1, 10'000); }
std::int64_t shares_of(std::int64_t millicores) {
  return std::clamp<std::int64_t>(millicores * 1024 / 1000, 2, 262'144);
}

}  // namespace

CgroupPlace find_cgroup_place(std::string_view own_cgroups, std::string_view mounts) {
  std::map<std::string, std::string, std::less<>> own;  // controller, or "" for v2 → path
  for (auto line : base::split(own_cgroups, '\n')) {
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    for (auto controller : base::split(line.substr(first + 1, second - first - 1), ','))
      own.emplace(controller, line.substr(second + 1));
  }
  CgroupPlace place;
  auto folder = [&](std::string_view root, std::string_view mount, std::string_view controller) -> fs::path {
    auto at = own.find(controller);
    if (at == own.end()) return {};
    std::string_view path = at->second;
    if (root != "/" && path.starts_with(root)) path.remove_prefix(root.size());
    return fs::path(std::string(mount) + std::string(path == "/" ? "" : path));
  };
  for (auto line : base::split(mounts, '\n')) {
    auto words = base::split(line, ' ');
    std::size_t dash = 0;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 3 >= words.size() || dash < 6) continue;
    std::string_view type = words[dash + 1], options = words[dash + 3];
    if (type == "cgroup2") place.unified = folder(words[3], words[4], "");
    if (type == "cgroup" && lists_word(options, "memory", ',')) place.memory_v1 = folder(words[3], words[4], "memory");
    if (type == "cgroup" && lists_word(options, "cpu", ',')) place.cpu_v1 = folder(words[3], words[4], "cpu");
  }
  return place;
}

namespace {

std::optional<CgroupPlace> remembered_place;

base::Result<CgroupPlace> own_place() {
  LATHE_TRY(std::string own, read_small_file("/proc/self/cgroup"));
  LATHE_TRY(std::string mounts, read_small_file("/proc/self/mountinfo"));
  return find_cgroup_place(own, mounts);
}

}  // namespace

void remember_cgroup_place() {
  if (auto place = own_place()) remembered_place = std::move(*place);
  share_idle_cgroups();
}

void forget_cgroup_place() {
  if (!remembered_place) return;
  for (const auto& parent : {remembered_place->memory_v1, remembered_place->cpu_v1}) remove_idle_cgroups(parent);
  remembered_place.reset();
}

base::Result<Cgroup> Cgroup::create(const std::string& name, const CgroupLimits& limits, const std::string& slot) {
  if (remembered_place)
    if (auto group = create_in(*remembered_place, name, limits, slot)) return group;
  LATHE_TRY(CgroupPlace place, own_place());
  return create_in(place, name, limits, slot);
}

base::Result<Cgroup> Cgroup::create_in(const CgroupPlace& place, const std::string& name, const CgroupLimits& limits,
                                       const std::string& slot) {
  if (!place.memory_v1.empty()) return create_v1(place, name, limits, slot);
  if (!place.unified.empty()) return create_unified(place, name, limits);
  return base::fail(base::Code::unsupported, "no cgroup hierarchy is mounted");
}

base::Result<void> Cgroup::enter(const fs::path& folder, const char* join_file, std::string idle_slot) {
  const bool taken = !idle_slot.empty() && take_idle_cgroup(idle_slot, folder);
  if (!taken && ::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
    return base::fail(base::errno_error(errno, fmt::format("making the cgroup {}", folder.string())));
  Fd procs(::open((folder / join_file).c_str(), O_WRONLY | O_CLOEXEC));
  int error = errno;
  folders_.push_back({folder, std::move(procs), std::move(idle_slot), taken});
  if (!folders_.back().procs)
    return base::fail(base::errno_error(error, fmt::format("opening the cgroup {}", folder.string())));
  return {};
}

base::Result<Cgroup> Cgroup::create_unified(const CgroupPlace& place, const std::string& name,
                                            const CgroupLimits& limits) {
  // Below us when we may give controllers away, else beside us: where a service manager delegated our parent.
  for (const fs::path& parent : {place.unified, place.unified.parent_path()}) {
    if (!gives_memory(parent)) continue;
    Cgroup group;
    group.unified_ = true;
    LATHE_TRY_VOID(group.enter(parent / name, "cgroup.procs"));
    const fs::path& folder = group.folders_[0].path;
    if (limits.memory_bytes > 0) {
      LATHE_TRY_VOID(write_small_file(folder / "memory.max", fmt::format("{}", limits.memory_bytes)));
      (void)write_small_file(folder / "memory.swap.max", "0");
    }
    if (limits.millicores > 0)
      (void)write_small_file(folder / "cpu.weight", fmt::format("{}", weight_of(limits.millicores)));
    return group;
  }
  return base::fail(base::Error(base::Code::unsupported, "the memory controller is not delegated to this user")
                        .hint("start the server as a systemd service with Delegate=yes"));
}

base::Result<Cgroup> Cgroup::create_v1(const CgroupPlace& place, const std::string& name, const CgroupLimits& limits,
                                       const std::string& slot) {
  // Through `tasks`, which moves one thread: a fresh child has only one, and a thread that moves itself needs no lock
  // over all processes. Through cgroup.procs each move waits for an RCU grace period, 8 to 15 ms.
  Cgroup group;
  auto slot_of = [&](std::int64_t limit) { return slot.empty() ? slot : fmt::format("{}-{}", slot, limit); };
  LATHE_TRY_VOID(group.enter(place.memory_v1 / name, "tasks", slot_of(limits.memory_bytes)));
  const fs::path folder = group.folders_[0].path;
  if (limits.memory_bytes > 0 && !group.folders_[0].taken) {
    std::string bytes = fmt::format("{}", limits.memory_bytes);
    LATHE_TRY_VOID(write_small_file(folder / "memory.limit_in_bytes", bytes));
    (void)write_small_file(folder / "memory.memsw.limit_in_bytes", bytes);
  }
  if (limits.millicores > 0 && !place.cpu_v1.empty()) {
    LATHE_TRY_VOID(group.enter(place.cpu_v1 / name, "tasks", slot_of(limits.millicores)));
    if (!group.folders_[1].taken)
      (void)write_small_file(group.folders_[1].path / "cpu.shares", fmt::format("{}", shares_of(limits.millicores)));
  }
  return group;
}

Cgroup::~Cgroup() { remove(); }

std::vector<int> Cgroup::join_descriptors() const {
  std::vector<int> out;
  for (const auto& folder : folders_) out.push_back(folder.procs.get());
  return out;
}

bool Cgroup::out_of_memory() const {
  if (folders_.empty()) return false;
  std::string events =
      read_small_file(folders_[0].path / (unified_ ? "memory.events" : "memory.oom_control")).value_or("");
  for (auto line : base::split(events, '\n'))
    if (line.starts_with("oom_kill ")) return base::parse_u64(line.substr(9)).value_or(0) > 0;
  return false;
}

bool Cgroup::reached_memory_limit() const {
  if (unified_ || folders_.empty()) return out_of_memory();
  auto read = [&](const char* file) {
    return base::parse_u64(base::trim(read_small_file(folders_[0].path / file).value_or(""))).value_or(0);
  };
  const auto most = read("memory.max_usage_in_bytes");
  return most > 0 && most >= read("memory.limit_in_bytes");
}

namespace {

// The folder at which the hierarchy of a group is mounted.
fs::path mount_of(fs::path group) {
  struct stat here{}, above{};
  while (::stat(group.c_str(), &here) == 0 && ::stat(group.parent_path().c_str(), &above) == 0 &&
         here.st_dev == above.st_dev)
    group = group.parent_path();
  return group;
}

// The kernel lets go of a group a moment after its last process was reaped.
bool remove_group(const fs::path& group) {
  for (int tries = 0; tries < 1'000; ++tries) {
    if (::rmdir(group.c_str()) == 0) return true;
    if (errno != EBUSY) return false;
    ::poll(nullptr, 0, 1);
  }
  return false;
}

bool remove_with_inner(const fs::path& group) {
  std::error_code absent;
  for (const auto& inner : fs::directory_iterator(group, absent))
    if (inner.is_directory(absent)) remove_group(inner.path());
  return remove_group(group);
}

}  // namespace

std::string Cgroup::path() const {
  if (folders_.empty()) return {};
  return "/" + folders_[0].path.lexically_relative(mount_of(folders_[0].path)).string();
}

void Cgroup::remove_tree(const std::string& name) {
  auto place = own_place();
  if (!place) return;
  if (place->memory_v1.empty()) {  // as create_unified() chooses
    for (const fs::path& parent : {place->unified, place->unified.parent_path()}) remove_with_inner(parent / name);
    return;
  }
  const fs::path mount = mount_of(place->memory_v1), below = place->memory_v1.lexically_relative(mount) / name;
  if (!place->cpu_v1.empty()) remove_group(place->cpu_v1 / name);
  std::error_code failed;
  for (fs::directory_iterator hierarchy(mount.parent_path(), failed); !failed && hierarchy != fs::directory_iterator();
       hierarchy.increment(failed)) {
    const fs::path group = hierarchy->path() / below;
    // And the folders on the way, which the engine made where we are elsewhere; those of others are not empty.
    if (!remove_with_inner(group)) continue;
    for (fs::path folder = group.parent_path(); folder != hierarchy->path() && ::rmdir(folder.c_str()) == 0;)
      folder = folder.parent_path();
  }
}

namespace {

// Processes of the group and of those below it, zombies not counted.
std::vector<pid_t> members(const fs::path& group) {
  std::vector<pid_t> out;
  for (auto line : base::split(read_small_file(group / "cgroup.procs").value_or(""), '\n'))
    if (auto pid = base::parse_u64(line)) out.push_back(static_cast<pid_t>(*pid));
  std::error_code absent;
  for (const auto& inner : fs::directory_iterator(group, absent))
    if (inner.is_directory(absent)) {
      auto more = members(inner.path());
      out.insert(out.end(), more.begin(), more.end());
    }
  return out;
}

}  // namespace

int Cgroup::end_tree(const std::string& name, std::chrono::milliseconds limit) {
  auto place = own_place();
  if (!place) return 0;
  const bool unified = place->memory_v1.empty();
  std::vector<fs::path> groups{place->memory_v1 / name};
  if (unified) groups = {place->unified / name, place->unified.parent_path() / name};
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int left = 0;
  for (const auto& group : groups)
    for (auto pids = members(group); !pids.empty(); pids = members(group)) {
      if (std::chrono::steady_clock::now() > deadline) {
        left += static_cast<int>(pids.size());
        break;
      }
      if (!unified || !write_small_file(group / "cgroup.kill", "1"))
        for (pid_t pid : pids) ::kill(pid, SIGKILL);
      ::poll(nullptr, 0, 1);  // the kernel needs a moment to end them
    }
  if (left == 0) remove_tree(name);
  return left;
}

void Cgroup::abandon() { folders_.clear(); }

void Cgroup::kill_all() const {
  if (folders_.empty()) return;
  if (unified_ && write_small_file(folders_[0].path / "cgroup.kill", "1")) return;
  for (auto line : base::split(read_small_file(folders_[0].path / "cgroup.procs").value_or(""), '\n'))
    if (auto pid = base::parse_u64(line)) ::kill(static_cast<pid_t>(*pid), SIGKILL);
}

void Cgroup::leave_idle() {
  if (out_of_memory() || reached_memory_limit()) return;
  std::erase_if(folders_, [](const Folder& folder) {
    return !folder.idle_slot.empty() && leave_idle_cgroup(folder.path, folder.idle_slot);
  });
}

void Cgroup::remove() {
  for (auto& folder : folders_) {
    folder.procs.reset();
    remove_group(folder.path);
  }
  folders_.clear();
}

}  // namespace lathe::sys

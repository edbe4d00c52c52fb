#include "runner/run_user.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/strings.h"
#include "sys/gpu.h"
#include "sys/small_file.h"

namespace lathe::runner {
namespace {

constexpr const char* kLocks = "/run/lathe/users";
constexpr std::string_view kNamed = "user ";

// Through which GPUs are used where not everybody may.
std::vector<gid_t> device_groups() {
  std::vector<gid_t> out;
  if (!sys::machine_may_have_gpu()) return out;
  for (const char* name : {"video", "render"})
    if (const group* entry = ::getgrnam(name)) out.push_back(entry->gr_gid);
  return out;
}

// In a user namespace, that of a container, some users are not there.
bool is_known(uid_t user) {
  std::ifstream map("/proc/self/uid_map");
  for (std::uint64_t first = 0, outside = 0, count = 0; map >> first >> outside >> count;)
    if (user >= first && user - first < count) return true;
  return false;
}

// By the file alone: to ask the name services of the machine costs more than all the rest of a short run, and users of
// theirs do not have such numbers.
bool has_name(uid_t user) {
  static const std::string kUsers = sys::read_small_file("/etc/passwd").value_or("");
  return kUsers.find(fmt::format(":{}:", user)) != kUsers.npos;
}

base::Result<RunUser> take_slot() {
  ::mkdir("/run/lathe", 0700);
  ::mkdir(kLocks, 0700);
  for (uid_t slot = 0; slot < kMostRunUsers; ++slot) {
    const auto path = fmt::format("{}/{}", kLocks, slot);
    sys::Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) return base::fail(base::errno_error(errno, fmt::format("opening {}", path)));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const uid_t id = kFirstRunUser + slot;
    if (has_name(id)) continue;  // somebody's after all
    return RunUser{sys::ProgramUser{id, id, device_groups()}, fmt::format("lathe-run-{}", slot), std::move(lock)};
  }
  return base::fail(base::Code::unavailable, "{} users are in use by runs", kMostRunUsers);
}

base::Result<RunUser> take_named(const std::string& name) {
  const passwd* entry = ::getpwnam(name.c_str());
  if (!entry)
    return base::fail(base::Error(base::Code::not_found, fmt::format("no user {}", base::printable(name)))
                          .field("run_as")
                          .hint("make the user, or change providers.local.run_as in the server's config.yaml"));
  sys::ProgramUser user{entry->pw_uid, entry->pw_gid, std::vector<gid_t>(64)};
  int count = static_cast<int>(user.groups.size());
  if (::getgrouplist(name.c_str(), user.group, user.groups.data(), &count) < 0) count = 0;
  user.groups.resize(static_cast<std::size_t>(count));
  return RunUser{std::move(user), {}, {}};
}

}  // namespace

base::Result<RunUser> RunUser::take(const std::string& rule) {
  if (::geteuid() != 0 || rule == "server") return RunUser{};
  if (!is_known(kFirstRunUser)) return RunUser{};
  if (rule.starts_with(kNamed)) return take_named(rule.substr(kNamed.size()));
  return take_slot();
}

}  // namespace lathe::runner

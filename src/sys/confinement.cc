#include "sys/confinement.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace lathe::sys {
namespace {

bool drop_bounding_set() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) return false;
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return true;
}

bool drop_capabilities() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capset, &head, none) == 0;
}

// By the system calls themselves: the C library's functions would tell threads that this process does not have.
bool become(const ProgramUser& who) {
  return ::syscall(SYS_setgroups, who.groups.size(), who.groups.data()) == 0 &&
         ::syscall(SYS_setresgid, who.group, who.group, who.group) == 0 &&
         ::syscall(SYS_setresuid, who.user, who.user, who.user) == 0;
}

bool limit_processes(std::uint64_t most) {
  rlimit now{};
  if (::getrlimit(RLIMIT_NPROC, &now) != 0) return false;
  const rlim_t limit = now.rlim_max < most ? now.rlim_max : most;
  const rlimit wanted{limit, limit};
  return ::setrlimit(RLIMIT_NPROC, &wanted) == 0;
}

}  // namespace

const char* confine(const Confinement& rules) {
  if (!drop_bounding_set()) return "dropping its capabilities";
  if (rules.user && !become(*rules.user)) return "becoming its user";
  if (!drop_capabilities()) return "dropping its capabilities";
  if (rules.processes > 0 && !limit_processes(rules.processes)) return "limiting its processes";
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "renouncing new privileges";
  if (!filter_system_calls()) return "filtering its system calls";
  return nullptr;
}

}  // namespace lathe::sys

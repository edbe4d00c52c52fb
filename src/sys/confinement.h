// Confinement: what a program loses between fork and exec, for good: its user, every capability, the way to more
// privileges, and the system calls that programs of runs have no use for. It keeps ptrace and process_vm_readv among its
// own processes (debuggers, Open MPI). Everything here is system calls only: it runs in a child that shares memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace lathe::sys {

// Of a program that is started by root.
struct ProgramUser {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  // further ones
  bool operator==(const ProgramUser&) const = default;
};

struct Confinement {
  std::optional<ProgramUser> user;  // absent: the user stays
  std::uint64_t processes = 0;      // most at once of its user, threads counted; 0: as many as the system has
};

// Null when all is done; else what could not be, with errno set.
const char* confine(const Confinement& rules);

// The filter alone; false with errno where the kernel has none.
bool filter_system_calls();

}  // namespace lathe::sys

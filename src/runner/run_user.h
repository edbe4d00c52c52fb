// RunUser: who the processes of a run are. A runner of root gives each run a user of its own, which no other run and no
// person has: a number from a range, held by a lock as long as the runner or a process of the run lives. By rule of the
// site it is a named user, or the runner's own. A runner of anybody else, or of root in a container that does not have
// such numbers, can only be himself.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "sys/confinement.h"
#include "sys/fd.h"

namespace lathe::runner {

// Numbers that no distribution gives out.
inline constexpr uid_t kFirstRunUser = 2'000'000'000;
inline constexpr uid_t kMostRunUsers = 100'000;

struct RunUser {
  std::optional<sys::ProgramUser> user;  // absent: the runner's own
  std::string name;                      // for a user that the machine has no name for; else empty
  sys::Fd lock;                          // of its number

  // `rule` is "slot", "server" or "user NAME".
  static base::Result<RunUser> take(const std::string& rule);
};

}  // namespace lathe::runner

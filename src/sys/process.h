// spawn: starts a program as leader of a session and process group of its own. The parent does not copy its memory
// (clone with CLONE_VM | CLONE_VFORK), so a spawn costs the same however large the parent is, and a failing exec is
// told to the caller with the step that failed. The child is killed when the *thread* that spawned it ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sys/confinement.h"
#include "sys/fd.h"

namespace lathe::sys {

struct SpawnRequest {
  std::vector<std::string> argv;            // argv[0] is the path of the program: nothing is searched for
  std::vector<std::string> environment;     // "NAME=value"
  std::string directory;                    // where the program starts; empty: here
  int input = -1, output = -1, error = -1;  // -1: /dev/null
  std::vector<int> cgroups;                 // open cgroup.procs files of the groups to join before the program starts
  std::optional<Confinement> confinement = {};  // absent: it is started with all that we have
};

struct Child {
  pid_t pid = 0;
  Fd pidfd;
};

base::Result<Child> spawn(const SpawnRequest& request);

// Takes the signals out of the way of threads and handlers: they are blocked and come out of the descriptor.
base::Result<Fd> block_signals(std::initializer_list<int> signals);
// Takes all that have come; false when there were none.
bool take_signals(int signal_fd);

// For a process that holds secrets: no core files, and no other process of this user may look into its memory. Its
// children may allow themselves core files again.
void protect_memory();

// For a forked process that goes on without exec: closes every descriptor above the standard three but `keep`.
void close_all_except(std::vector<int> keep);

}  // namespace lathe::sys

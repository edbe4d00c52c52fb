// The descendants of a process, however they were forked. A process that made itself a subreaper is given every orphan
// below it, so a daemon that double-forked and called setsid is still found by walking down from there, and "no child
// left to wait for" proves that the whole tree is gone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace lathe::sys {

base::Result<void> become_subreaper();

// Not including `root`. A snapshot: processes come and go while it is taken.
std::vector<pid_t> descendants(pid_t root);

// Sends `signal` to every descendant of `root` (SIGCONT after a SIGTERM, so that stopped ones see it). A pid that was
// given to somebody else in between is never signalled.
void signal_descendants(pid_t root, int signal);

// Kills and reaps everything below this process (a subreaper, or process 1) until nothing is left. Returns how many
// could not be killed within `limit`: processes that hang in the kernel. `kill_all` sends the signals; without one each
// descendant is looked for.
int kill_own_descendants(std::chrono::milliseconds limit, const std::function<void()>& kill_all = {});

// Before a fork whose child uses these functions: makes what they remember.
void prepare_process_tree();

// Field 22 of /proc/PID/stat: when the process started, in clock ticks since boot. With the pid it names one process
// for ever. Empty when there is none.
std::string process_start(pid_t pid);

// What a tree uses now, summed over its processes.
struct TreeUsage {
  std::int64_t resident_bytes = 0;
  int processes = 0;
};
TreeUsage tree_usage(pid_t root);

}  // namespace lathe::sys

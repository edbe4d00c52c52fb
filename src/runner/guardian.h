// Guardian: a small forked process between the runner and the user's program. It is the program's parent and a
// subreaper, so every process of the run, however often it forked and called setsid, hangs below it; when the runner
// dies, even by kill -9, the guardian sees the end of their socket, kills everything below it, saves what is still in
// the log's pipe, and only then lets go of the spool's lock. Should the guardian itself be killed, the program dies
// with it (parent-death signal) and the runner, a subreaper too, is given the rest. Compared with a PID namespace: no
// privileges, no private /proc to mount, the program is not process 1 (whose signals mean something else), and one fork
// (about 0.2 ms) instead of one fork and two mounts.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sys/cgroup.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace lathe::runner {

// How it ended, once no process of the run is left.
struct GuardianReport {
  bool started = false;
  char start_error[512] = {};  // when it was not
  int wait_status = 0;
  double cpu_seconds = 0;               // of all processes
  std::int64_t peak_process_bytes = 0;  // of the largest one
  int unkillable = 0;                   // processes that hang in the kernel
};

class Guardian {
 public:
  // Forks the guardian, which starts the program; whether that worked is in the report. `group` may be null. `keep` are
  // descriptors that the guardian holds as long as it lives. `last_words` is called in the guardian when it has
  // outlived the runner and killed the rest. Closes nothing of the caller's.
  static base::Result<Guardian> start(const sys::SpawnRequest& program, sys::Cgroup* group, std::vector<int> keep,
                                      const std::function<void()>& last_words);
  Guardian(Guardian&&) = default;
  Guardian& operator=(Guardian&&) = delete;

  // Readable when there is a report, or when the guardian was killed.
  int fd() const { return control_.get(); }
  pid_t pid() const { return pid_; }
  void terminate();  // SIGTERM to every process of the run
  void kill();       // SIGKILL
  // The report; absent when the guardian was killed (then all that was below it has been killed by now as well).
  std::optional<GuardianReport> read_report();

 private:
  Guardian(pid_t pid, sys::Fd control) : pid_(pid), control_(std::move(control)) {}
  pid_t pid_;
  sys::Fd control_;
};

}  // namespace lathe::runner

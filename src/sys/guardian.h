// Guardian: a small forked process between us and a program that we start: the script of a run, a tool of a build. It
// is the program's parent and a subreaper, so every process of it, however often it forked and called setsid, hangs
// below the guardian; when we die, even by kill -9, the guardian sees the end of our socket, kills everything below it,
// says its last words (a runner's saves what is still in the log's pipe), and only then lets go of what it holds (the
// spool's lock). Should the guardian itself be killed, the program dies with it (parent-death signal), and the rest
// comes to the next subreaper above; should both of us be killed, the rest lives on. A box (sys/box.h) does not have
// this gap, and is what a run gets where the kernel allows it.
//
// start() is for any thread: it forks with fork(3), and glibc keeps its own locks (malloc, stdio, loader) usable in a
// child of a process with threads. The guardian takes no other lock of ours: statics it needs are made before the fork.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sys/cgroup.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace lathe::sys {

// How long the kernel has to end processes that were killed. Who is left then hangs in it.
inline constexpr std::chrono::seconds kKillLimit{10};

// How it ended, once no process of it is left.
struct GuardianReport {
  bool started = false;
  base::Code start_code = base::Code::io;  // when it was not
  char start_error[512] = {};
  int wait_status = 0;
  double cpu_seconds = 0;               // of all processes
  std::int64_t peak_process_bytes = 0;  // of the largest one
  int unkillable = 0;                   // processes that hang in the kernel; the guardian lives as long as they do
};

struct GuardianOrder {
  Cgroup* group = nullptr;     // of the program; may be null
  std::vector<int> keep = {};  // descriptors that the guardian holds as long as it lives
  // Said by the guardian when it has outlived us and killed the rest; may be empty.
  std::function<void()> last_words = {};
  // Processes that have left the program's own group may live on after its end; otherwise none does.
  bool leaves_daemons = false;
};

class Guardian {
 public:
  // Forks the guardian, which starts the program; whether that worked is in the report. Closes nothing of the caller's.
  static base::Result<Guardian> start(const SpawnRequest& program, GuardianOrder order);
  Guardian(Guardian&&) = default;
  Guardian& operator=(Guardian&&) = delete;

  // Readable when there is a report, or when the guardian was killed.
  int fd() const { return control_.get(); }
  pid_t pid() const { return pid_; }
  void terminate();  // SIGTERM to every process of the program
  void kill();       // SIGKILL
  // The report; absent when the guardian was killed, and the program with it. Without a box its descendants then belong
  // to the next subreaper above, who may kill them.
  std::optional<GuardianReport> read_report();
  // Waits for the end of the guardian, which is that of all processes; false when it still lives after the limit.
  bool wait_until_gone(std::chrono::milliseconds limit) const;

 protected:
  Guardian(pid_t pid, Fd control) : pid_(pid), control_(std::move(control)) {}
  pid_t pid_;
  Fd control_;
};

}  // namespace lathe::sys

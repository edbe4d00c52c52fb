// Provider: gets runners started somewhere, and says when one is gone. It knows nothing of runs, states or retries.
// Lives on the home thread; what blocks runs on the pool.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/compute.h"
#include "rt/cancel.h"
#include "rt/task.h"

namespace lathe::compute {

// One node task: the part of an attempt on one node.
struct TaskName {
  std::int64_t run_sequence = 0;
  int attempt = 0;
  int node = 0;
  // "12.1.0": made of numbers only, so that it is safe as a folder name.
  std::string text() const;
};

struct RunnerStart {
  TaskName task;
  std::string run_id;
  std::string url;
  std::string token;  // handed over in the environment, never in argv
};

class Provider {
 public:
  virtual ~Provider() = default;
  // Starts a runner and gives the handle by which a later server process finds it again. Also for a task whose runner
  // died before it had a spool (Trace::none); conflict while one lives. no_space or unavailable: the machine is short
  // of something, or it is not known whether the runner was started; look, and try again later.
  virtual rt::Task<std::string> start(RunnerStart start) = 0;
  // Starts a runner that only delivers what a dead one left behind.
  virtual rt::Task<std::string> adopt(TaskName task, std::string url) = 0;
  // What became of a task that an earlier server process started.
  enum class Trace {
    none,      // nothing lives and there is no spool
    starting,  // a runner was started and has no spool yet, or its process cannot be told from others now: look again
               // later
    dead,      // a spool without a runner; processes of its run may still be dying
    wrecked,   // a spool that the machine's own death has damaged: whether anything ran is not known
    alive,     // a runner with its spool
  };
  struct Found {
    Trace trace = Trace::none;
    std::string handle = {};     // of the runner, when it is alive
    bool only_delivers = false;  // alive: it has adopted what a dead one left; no process of the run is left
    bool is_locked = false;      // a process of the task lives, if only one that is dying
    bool has_order = false;      // dead: it was given its order, so that its script may have run
  };
  // Throws when that cannot be told now: a runner that lives must never be taken for gone.
  virtual rt::Task<Found> find(TaskName task) = 0;
  // Resumes when the runner with this handle no longer exists (at once if it is gone already). Throws io or
  // unavailable when that cannot be told now.
  virtual rt::Task<void> gone(std::string handle, rt::CancelToken cancel) = 0;
  // Ends the runner by force; its processes go with it. For one that does not answer a request to stop.
  virtual void kill(const std::string& handle) = 0;
  // Removes what is left of a task that is over. False when something of it still lives: then nothing is touched.
  virtual rt::Task<bool> clear(TaskName task) = 0;
  // Protects what the task left and nobody could deliver from being cleared. Gives where it lies, for people; empty
  // when nothing is left.
  virtual rt::Task<std::string> keep(TaskName task) = 0;
  // Every task that has left something behind, live ones included.
  virtual rt::Task<std::vector<TaskName>> traces() = 0;
  // The folder of a task, when it is on this machine.
  virtual std::filesystem::path folder(const TaskName& task) const = 0;
  virtual const model::Machine& capacity() const = 0;
};

}  // namespace lathe::compute

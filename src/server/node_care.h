// NodeCare: looks after every node of a live attempt until its part is over: starts its runner, or finds it again after
// a restart, waits for it to go, has what a dead one left delivered, and ends by force what does not stop. Tells the
// dispatcher what this ended. Home thread.
#pragma once

#include <functional>
#include <string>

#include "server/authority.h"
#include "server/core.h"
#include "server/live_attempts.h"
#include "server/live_logs.h"
#include "server/run_changes.h"

namespace lathe::server {

compute::TaskName task_of(const LiveAttempt& live, int node);

class NodeCare {
 public:
  // A runner that was asked to stop gets its grace and this long on top before it is ended by force.
  static constexpr base::Duration kStopMargin = std::chrono::seconds(15);

  // Each is called after the change is on disk.
  struct Report {
    std::function<void(const Changed&)> attempt_over;
    std::function<void(const std::string& run_id)> gang_failed;
  };
  NodeCare(Core& core, Authority& authority, LiveLogs& logs, std::string runner_url, Report report);

  // The same after a restart: `live->recovered` says that there may be a runner already.
  void begin(const LiveAttemptPtr& live, int node);
  // Of an attempt that has been asked to stop.
  void enforce_stop(const LiveAttemptPtr& live);

 private:
  rt::Task<void> keep_tending(LiveAttemptPtr live, int node);
  rt::Task<void> tend(LiveAttemptPtr live, int node);
  // Waits for a runner, if there is one, that has not yet made its spool; meanwhile its handle is known.
  rt::Task<compute::Provider::Found> find_runner(LiveAttemptPtr live, int node);
  // Gives the handle of a new runner or adopter; empty when it could not be started.
  rt::Task<std::string> start_runner(LiveAttemptPtr live, int node, bool adopt);
  bool may_start(const LiveAttempt& live) const;
  // The runner never came to life: the run goes back to the queue, and no failure is counted.
  rt::Task<void> unplace(LiveAttemptPtr live);
  rt::Task<void> lose_node(LiveAttemptPtr live, int node, std::string why);
  rt::Task<void> end_by_force(LiveAttemptPtr live);

  Core& core_;
  Authority& authority_;
  LiveLogs& logs_;
  const std::string runner_url_;
  const Report report_;
};

}  // namespace lathe::server

// NodeCare: looks after every node of a live attempt until its part is over: starts its runner, or finds it again after
// a restart, waits for it to go, and has what a dead one left delivered, whatever was asked of the run meanwhile. Force
// is for processes that outstay their grace; a delivery is left alone as long as it makes progress. Tells the
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
  // The first two are called after the change is on disk.
  struct Report {
    std::function<void(const Changed&)> attempt_over;
    std::function<void(const std::string& run_id)> gang_failed;
    // Nothing of this task lives any more.
    std::function<void(const compute::TaskName&)> node_gone;
  };
  NodeCare(Core& core, Authority& authority, LiveLogs& logs, std::string runner_url, Report report);

  // The same after a restart: `live->recovered` says that there may be a runner already.
  void begin(const LiveAttemptPtr& live, int node);
  // Of an attempt that has been asked to stop.
  void enforce_stop(const LiveAttemptPtr& live);
  // After a restart: reports node_gone when nothing of this task, whose attempt is over, lives any more.
  void wait_until_gone(const compute::TaskName& task);

 private:
  enum class End {
    settled,    // somebody has told the end
    withdrawn,  // no runner was ever started, and none will be
    lost,       // nobody is left who could tell it
  };
  rt::Task<void> keep_tending(LiveAttemptPtr live, int node);
  rt::Task<void> tend(LiveAttemptPtr live, int node);
  rt::Task<End> bring_to_end(LiveAttemptPtr live, int node);
  // Waits for a runner, if there is one, that has not yet made its spool; meanwhile its handle is known.
  rt::Task<compute::Provider::Found> find_runner(LiveAttemptPtr live, int node);
  // Starts a runner, or the adopter of what one left, after the pause that is due. Gives its handle; empty when it could
  // not be started. A try that failed because the machine is short of something does not count as one of the `starts`.
  rt::Task<std::string> start_next(LiveAttemptPtr live, int node, bool adopt, int& starts);
  bool may_start(const LiveAttempt& live) const;
  // The runner never came to life: the run goes back to the queue, and no failure is counted.
  rt::Task<void> unplace(LiveAttemptPtr live);
  rt::Task<void> lose_node(LiveAttemptPtr live, int node, std::string why);
  rt::Task<void> end_by_force(LiveAttemptPtr live);
  // Whether what this node does now may be ended: its processes are still there, or its delivery does not get on.
  bool may_force(const LiveAttempt& live, int node) const;

  Core& core_;
  Authority& authority_;
  LiveLogs& logs_;
  const std::string runner_url_;
  const Report report_;
};

}  // namespace lathe::server

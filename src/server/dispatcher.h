// Dispatcher: brings queued runs and free nodes together, and knows every placed attempt until it is over (NodeCare
// looks after its nodes). A reconciler: run_once() asks the pure planner what to do and does it; it runs when something
// changed, and on a timer only while the planner names a time (idle nodes to give back). After a restart recover()
// rebuilds what it knows from the database and goes on the same way. Home thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/compute.h"
#include "sched/state.h"
#include "server/authority.h"
#include "server/core.h"
#include "server/live_attempts.h"
#include "server/live_logs.h"
#include "server/node_care.h"
#include "server/run_changes.h"
#include "wire/run.h"

namespace lathe::server {

class Dispatcher {
 public:
  Dispatcher(Core& core, Authority& authority, LiveAttempts& attempts, LiveLogs& logs, std::string runner_url);

  // Before the API opens: computes, queue and live attempts from the database; their runners are found again.
  rt::Task<void> recover();
  // Spawns the reconciler in the scope of the core.
  void start();

  // Refuses what can never run here, with a hint; else says what the site changes for it.
  std::vector<std::string> check_can_run(const std::string& workspace, const model::RunSpec& spec) const;
  // Why a queued run waits; nothing for any other.
  std::optional<wire::Waiting> explain(const model::RunRecord& run) const;
  bool is_waiting(const model::RunRecord& run) const;

  // Each is called after the change is on disk.
  void submitted(const model::RunRecord& run);
  void cancel_asked(const model::RunRecord& run);
  void edited(const model::RunRecord& run);
  void attempt_over(const Changed& changed);
  // Nothing of this task lives any more: what it held is free.
  void node_gone(const compute::TaskName& task);
  // One node has failed: the others are asked to stop, and forced when they do not.
  void stop_gang(const std::string& run_id);
  void compute_changed(const model::ComputeTarget& target);
  void compute_removed(const std::string& workspace, const std::string& name);

  // The node that this target gets on this machine, and what was changed; refuses what does not fit.
  base::Result<model::FittedSize> fit(const model::ComputeTarget& target) const;
  // How many nodes there are and how many runs wait; all zero for a target that does not fit this machine.
  sched::Counts counts(const model::ComputeTarget& target) const;
  // Nodes that are taken because processes of a run that is over live on.
  std::vector<const sched::HeldSlice*> held(const model::ComputeTarget& target) const;
  // The ids of those runs.
  std::set<std::string> runs_that_hold() const;

  // Throws `fenced` unless this attempt is live.
  LiveAttemptPtr require_live(const std::string& run_id, int attempt) const;
  std::vector<LogStream> log_streams(const std::string& run_id, int attempt) const;
  std::size_t live_attempts() const { return attempts_.size(); }
  std::size_t queued() const { return state_.waiting_count(); }

 private:
  void nudge() { wake_.notify(); }
  rt::Task<void> reconcile();
  void run_once();
  rt::Task<void> place(sched::Placement placement);
  rt::Task<void> take_back(sched::Placement placement, base::Error why);
  rt::Task<void> preempt(AttemptName name);
  void begin(const LiveAttemptPtr& live);
  struct Stored;
  void recover_attempt(const model::RunRecord& run, Stored& stored);
  // What of ended attempts still lives keeps its nodes.
  rt::Task<void> recover_lingering();
  rt::Task<void> recover_lingering(compute::TaskName task);
  // As asked by a person, or because another node of it has failed.
  void stop(const LiveAttemptPtr& live);

  Core& core_;
  Authority& authority_;
  LiveAttempts& attempts_;
  LiveLogs& logs_;
  sched::State state_;
  std::map<sched::ComputeId, std::vector<std::string>> notes_;  // what the site changed about each target
  std::map<sched::ComputeId, base::Error> unfit_;               // targets that this machine can no longer give, and why
  rt::Notifier wake_;
  NodeCare care_;
};

}  // namespace lathe::server

// RunnerDesk: what a runner may do for its attempt. Every call names the attempt; one that is over or replaced is
// fenced. Home thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/artifacts.h"
#include "db/workspaces.h"
#include "server/core.h"
#include "server/dispatcher.h"
#include "server/live_attempts.h"
#include "server/live_logs.h"
#include "server/output_datasets.h"
#include "server/run_changes.h"
#include "wire/order.h"

namespace lathe::server {

class EnvironmentSite;

class RunnerDesk {
 public:
  RunnerDesk(Core& core, LiveAttempts& attempts, LiveLogs& logs, Dispatcher& dispatcher,
             const EnvironmentSite& environments)
      : core_(core), attempts_(attempts), logs_(logs), dispatcher_(dispatcher), environments_(environments) {}

  // Answers when the claim, and with it the move to Running, is on disk: nothing of the user's runs before. Error
  // no_space when the disk is full; the runner asks again.
  // `is_here`: the runner is on this machine and of this user.
  rt::Task<wire::RunnerOrder> claim(AttemptName name, int node, bool is_here);
  // One JSON line with what is desired of the runner, and another whenever that changes, until the attempt is over.
  rt::Task<void> watch(AttemptName name, int node, rt::CancelToken cancel, net::BodyWriter& out);
  // Returns when every node of the attempt hides the value in its log, so that the script may have it. `id` names this
  // value of the secret. unavailable when a node does not answer.
  rt::Task<void> hide_secret(AttemptName name, std::string id, std::string value, rt::CancelToken cancel);
  // The node says which secrets it hides, and gets the others.
  std::vector<GivenSecrets::Value> exchange_secrets(const AttemptName& name, int node,
                                                    const std::vector<std::string>& hidden);
  // The run of a live attempt.
  const model::RunRecord& get_run(const AttemptName& name) const { return get_live(name)->run; }
  // No process of this node's task is left; outputs are being sent. `node` is negative when a runner of an earlier
  // version does not say it.
  rt::Task<void> process_ended(AttemptName name, int node);
  // A caller that is a live attempt has brought bytes: its delivery gets on.
  void note_progress(const net::Principal& who);
  rt::Task<void> put_artifacts(AttemptName name, std::vector<db::artifacts::Artifact> files);
  rt::Task<void> put_outputs(AttemptName name, std::vector<OutputFile> files);
  rt::Task<void> add_notes(AttemptName name, std::vector<std::string> notes);
  // `log_bytes`: what the runner has of the node's log, where it says so. Error(conflict) when less has arrived here:
  // the runner sends the rest and finishes again.
  rt::Task<model::RunState> finish(AttemptName name, int node, model::ExitRecord exit,
                                   std::map<std::string, std::uint64_t> log_bytes);

  // The log of this name, if the attempt is live and has it.
  LogStream log_of(const AttemptName& name, const std::string& log_name) const;

 private:
  LiveAttemptPtr get_live(const AttemptName& name) const;
  // The node is known when the runner claims, and not (negative) when it reconnects.
  rt::Task<void> store_claim(LiveAttemptPtr live, int node);
  rt::Task<void> require_whole_logs(AttemptName name, std::map<std::string, std::uint64_t> log_bytes);
  rt::Task<void> seal_log(AttemptName name, int node);
  rt::Task<db::workspaces::Workspace> workspace(std::string name);
  rt::Task<void> add_environment(const model::RunRecord& run, wire::RunnerOrder& order);

  Core& core_;
  LiveAttempts& attempts_;
  LiveLogs& logs_;
  Dispatcher& dispatcher_;
  const EnvironmentSite& environments_;
  std::map<std::string, db::workspaces::Workspace> workspaces_;
};

}  // namespace lathe::server

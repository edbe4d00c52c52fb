// LiveAttempts: the attempts that are placed and not over, as the home thread knows them. A mirror of committed rows:
// it is changed only after the database has been, and rebuilt from it at start.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/run.h"
#include "rt/notifier.h"
#include "server/given_secrets.h"

namespace lathe::server {

struct LiveAttempt {
  LiveAttempt(rt::Executor& home, model::RunRecord run_record, model::AttemptRecord attempt_record)
      : run(std::move(run_record)), attempt(std::move(attempt_record)), changed(home) {}
  model::RunRecord run;
  model::AttemptRecord attempt;
  // Why the runners should stop, `none` while they should not. Besides the attempt's own stop reason this covers a gang
  // of which one node has failed.
  model::EndReason stop = model::EndReason::none;
  std::map<int, std::string> handles;  // by node: the provider's handle of its runner
  std::set<int> claimed_nodes;         // of a gang: nodes whose runner has claimed
  std::set<int> finished;              // nodes that have reported their end
  std::set<int> delivering;            // nodes whose processes are gone: what they left is on its way to us
  std::set<int> lingering;             // nodes on which something may outlive the attempt: their slices are held
  base::SteadyTime last_progress{};    // when a runner of it last brought something
  int stalls = 0;                      // deliveries that were broken off because they made none
  std::string waits_for;               // what the machine lacks to start a runner; empty: nothing
  bool recovered = false;              // placed by an earlier server process: its runners may be anywhere on their way
  bool over = false;
  GivenSecrets secrets;
  rt::Notifier changed;  // stop, over, finished or secrets

  // Whether every node that still runs hides this secret in its log.
  bool hides(const std::string& secret_id) const {
    for (int node = 0; node < static_cast<int>(attempt.slices.size()); ++node)
      if (!finished.contains(node) && !secrets.is_hidden(secret_id, node)) return false;
    return true;
  }

  // Whether the end of this node is told.
  bool is_settled(int node) const { return over || finished.contains(node); }

  // Whether a runner has claimed this node, so that a process of the user may have run on it.
  bool is_claimed(int node) const {
    return attempt.slices.size() == 1 ? attempt.claimed.has_value() : claimed_nodes.contains(node);
  }
};
using LiveAttemptPtr = std::shared_ptr<LiveAttempt>;

class LiveAttempts {
 public:
  explicit LiveAttempts(rt::Executor& home) : home_(home) {}
  LiveAttemptPtr add(const model::RunRecord& run, const model::AttemptRecord& attempt);
  // Null when this attempt is not live: over, replaced, or never placed.
  LiveAttemptPtr find(const std::string& run_id, int attempt) const;
  // The live attempt of a run, whatever its number.
  LiveAttemptPtr find(const std::string& run_id) const;
  void ask_stop(const std::string& run_id, model::EndReason reason);
  void remove(const std::string& run_id);
  std::size_t size() const { return attempts_.size(); }

 private:
  rt::Executor& home_;
  std::map<std::string, LiveAttemptPtr> attempts_;  // by run id: a run has at most one
};

}  // namespace lathe::server

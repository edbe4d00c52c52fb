// The changes of a run as database closures: load, decide (model/run_moves.h), store, in one transaction.
// Called on the writer thread through db::Database::write; they throw base::Error and then nothing has changed.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "db/run_environments.h"
#include "db/sqlite.h"
#include "model/run_moves.h"
#include "server/authority.h"
#include "server/core.h"

namespace lathe::server {

struct Changed {
  model::RunRecord run;
  std::optional<model::AttemptRecord> attempt;
  bool changed = false;  // false: it was so already
};

struct AttemptName {
  std::string run_id;
  int number = 0;
};

// What a submit asks for: the spec, the client's own description of it (JSON, may be empty), and the environment that
// Lathe builds for it or whose interpreter is its user's.
struct Wish {
  const model::RunSpec& spec;
  const std::string& definition;
  const db::run_environments::RunEnvironment* environment = nullptr;
  const std::string* environment_definition = nullptr;
  bool is_environment_ready = true;
};
// The same id with the same content is the same run (changed is false), with other content a conflict.
Changed submit_run(db::Connection& connection, const model::Submission& submission, const Wish& wish,
                   const Caller& caller, base::UtcTime now);
// Completed, or Failed with the error.
Changed end_interactive_run(db::Connection& connection, const model::RunRecord& run,
                            const std::optional<model::RunError>& error, const Caller& caller, base::UtcTime now);
// What the preparation found: what the inputs turned out to be, and what the environment was locked to.
struct Prepared {
  model::ResolvedInputs inputs;
  std::optional<db::run_environments::RunEnvironment> environment;
  std::vector<std::string> notes;  // what was replaced in it
};
// Preparing → Queued; conflict when it was canceled meanwhile.
Changed prepare_run(db::Connection& connection, const std::string& run_id, const Prepared& prepared, base::UtcTime now);
// Preparing → Failed.
Changed fail_preparation(db::Connection& connection, const std::string& run_id, const std::string& message,
                         base::UtcTime now);
Changed cancel_run(db::Connection& connection, const model::RunRecord& run, const Caller& caller, base::UtcTime now);
// `hashes` gives those of the tokens for a run and an attempt's number.
Changed place_run(db::Connection& connection, const std::string& run_id, std::vector<model::Slice> slices,
                  const std::function<AttemptHashes(const model::RunRecord&, int)>& hashes, base::UtcTime now);
// Of a gang the node is kept as well, when it is known (not negative).
Changed claim_attempt(db::Connection& connection, const AttemptName& name, int node, base::UtcTime now);
Changed end_process(db::Connection& connection, const AttemptName& name, base::UtcTime now);
Changed preempt_attempt(db::Connection& connection, const AttemptName& name, base::UtcTime now);
// The attempt's runner never came to life: the run waits again, and no failure is counted.
Changed unplace_run(db::Connection& connection, const AttemptName& name, base::UtcTime now);

// One node of the attempt is over. The attempt ends when all its nodes are; until then `gang_failed` says whether the
// others should be stopped. A node that reported before is heard without effect.
struct NodeFinished : Changed {
  bool attempt_over = false;
  bool gang_failed = false;
};
NodeFinished finish_node(db::Connection& connection, const AttemptName& name, int node, const model::ExitRecord& exit,
                         base::UtcTime now);

// Each note once, and no more than a run may have; the run as it is then.
model::RunRecord add_notes(db::Connection& connection, const AttemptName& name, const std::vector<std::string>& notes,
                           base::UtcTime now);

// The run of an attempt that is live; throws fenced for any other.
model::RunRecord get_live_run(db::Connection& connection, const AttemptName& name);
// Finds the run in this workspace; a run of another one does not exist for the caller.
model::RunRecord get_run(db::Connection& connection, const std::string& workspace, const std::string& run_id);

}  // namespace lathe::server

// The pure decisions about one run. Each takes the run as it stands (and its current attempt where one is needed) and
// what happened, and returns what to write: the run and attempt after it, and the moves for the event table. No clock,
// no ids made here: times, sequence numbers and token hashes come in. Nothing is changed on an error.
//
// Every decision is idempotent: hearing the same thing again gives a Change without moves (`changed` is false).
// Errors: `fenced` when an attempt speaks that is over or replaced, `conflict` when the run's state does not allow it.
// A Change goes out as one transaction guarded by the run's generation before it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/run.h"

namespace lathe::model {

struct Change {
  RunRecord run;                         // after
  std::optional<AttemptRecord> attempt;  // after; empty when no attempt is touched
  std::vector<RunMove> moves;            // in order, each legal
  bool changed = true;                   // false: nothing to write
};

// What a submit brings besides the spec.
struct Submission {
  RunId id;
  std::string workspace;
  std::string submitted_by;
  std::vector<std::string> notes;
};

// Submit: NotStarted → Starting → Preparing. The spec must have passed validate_spec; `sequence` stays 0.
Change make_run(const Submission& submission, const RunSpec& spec, base::UtcTime now);

// Preparing → Queued. `reason` e.g. "environment is the user's".
base::Result<Change> prepared(const RunRecord& run, std::string reason, base::UtcTime now);
// Starting or Preparing → Failed with code "prepare-failed".
base::Result<Change> prepare_failed(const RunRecord& run, std::string message, base::UtcTime now);

// An interactive run: Preparing → Queued → Running at once; nobody has to place it.
base::Result<Change> interactive_started(const RunRecord& run, base::UtcTime now);
// Its client says that it is over: Running → Finalizing → Completed, or Failed when there is an error. The same end
// again is heard without effect; another one, and the end of a run that is not interactive, is a `conflict`.
base::Result<Change> interactive_ended(const RunRecord& run, std::optional<RunError> error, std::string reason,
                                       base::UtcTime now);

// Queued without a live attempt → attempt n+1 on these slices; the state stays Queued until a runner claims it.
// `current` is the run's latest attempt, if any.
base::Result<Change> placed(const RunRecord& run, const std::optional<AttemptRecord>& current,
                            std::vector<Slice> slices, const base::Digest& token_hash, base::UtcTime now);

// A runner has come for `attempt`: Queued → Running. When cancel was asked meanwhile, the claim succeeds, the state
// stays CancelRequested, and the runner hears at once that it must stop.
base::Result<Change> claimed(const RunRecord& run, const AttemptRecord& attempt, base::UtcTime now);

// The user's process has ended, outputs are being collected: → Finalizing.
base::Result<Change> process_ended(const RunRecord& run, const AttemptRecord& attempt, base::UtcTime now);

// The attempt is over. Fills in the moves that were not reported, then ends the run or, where the spec declares a retry
// for this kind of failure and nobody asked to cancel, puts it back into the queue.
// A run ends Canceled when cancel was asked and the process was stopped; one that exited by itself ends as it exited.
base::Result<Change> finished(const RunRecord& run, const AttemptRecord& attempt, const ExitRecord& exit,
                              base::UtcTime now);

// The runner of a placed attempt never came to life, so that nothing of the run has happened: the attempt is over as
// `node_lost`, the run waits again (or is Canceled, when that was asked), and no failure is counted.
base::Result<Change> unplaced(const RunRecord& run, const AttemptRecord& attempt, base::UtcTime now);

// Somebody wants the run to end. Without a live attempt it is Canceled at once, else CancelRequested and the attempt is
// asked to stop. A terminal run is a `conflict` that names its state.
base::Result<Change> cancel_requested(const RunRecord& run, const std::optional<AttemptRecord>& current,
                                      std::string reason, base::UtcTime now);
// A dedicated run needs the node: the attempt is asked to stop; the state changes when it has.
base::Result<Change> preempt_requested(const RunRecord& run, const AttemptRecord& attempt);

// Whether `attempt` is the run's current one and not over: only such an attempt may change anything.
bool is_live(const RunRecord& run, const AttemptRecord& attempt);

// One exit for a gang from those of its nodes (not empty): the first that ended badly by itself says why; nodes that
// were only stopped because another failed do not. Usage is summed.
ExitRecord gang_exit(std::span<const ExitRecord> nodes);

}  // namespace lathe::model

#include "model/run_moves.h"

#include "base/check.h"
#include "model/run_outcome.h"

namespace lathe::model {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::UtcTime;

Change unchanged(const RunRecord& run, std::optional<AttemptRecord> attempt = std::nullopt) {
  return {.run = run, .attempt = std::move(attempt), .moves = {}, .changed = false};
}

Change start_change(const RunRecord& run, std::optional<AttemptRecord> attempt = std::nullopt) {
  Change change{.run = run, .attempt = std::move(attempt), .moves = {}, .changed = true};
  ++change.run.generation;
  return change;
}

// The gate: nothing else assigns a state.
void move(Change& change, RunState to, std::string reason, UtcTime now) {
  LATHE_CHECK(can_move(change.run.state, to), "run {}: {} to {} is not a legal move", change.run.id.value,
              state_name(change.run.state), state_name(to));
  change.moves.push_back({.from = change.run.state, .to = to, .reason = std::move(reason), .at = now});
  change.run.state = to;
  if (is_terminal(to)) change.run.ended = now;
}

std::unexpected<Error> wrong_state(const RunRecord& run, std::string_view wanted, std::string hint) {
  return base::fail(
      Error(Code::conflict, fmt::format("run {} is {} and cannot be {}", run.id.value, state_name(run.state), wanted))
          .hint(std::move(hint)));
}

std::unexpected<Error> fenced(const RunRecord& run, const AttemptRecord& attempt) {
  const std::string why = attempt.number != run.attempt
                              ? fmt::format("the run is at attempt {}", run.attempt)
                              : fmt::format("it ended: {}", end_reason_name(attempt.exit.reason));
  return base::fail(
      Error(Code::fenced, fmt::format("attempt {} of run {} is over; {}", attempt.number, run.id.value, why))
          .hint("this runner must stop; nothing it says counts any more"));
}

bool live(const RunRecord& run, const std::optional<AttemptRecord>& attempt) {
  return attempt && is_live(run, *attempt);
}

bool same_ending(const ExitRecord& a, const ExitRecord& b) {
  return a.reason == b.reason && a.exit_code == b.exit_code && a.signal == b.signal;
}

void add_usage(Usage& total, const Usage& more) {
  total.cpu_seconds += more.cpu_seconds;
  total.gpu_seconds += more.gpu_seconds;
  total.peak_memory_bytes = std::max(total.peak_memory_bytes, more.peak_memory_bytes);
  total.peak_gpu_memory_bytes = std::max(total.peak_gpu_memory_bytes, more.peak_gpu_memory_bytes);
}

// Whether a process of the user may have existed; if not, there is nothing to finalize.
bool ran(const AttemptRecord& attempt, const ExitRecord& exit) {
  if (attempt.claimed || exit.started.micros != 0) return true;
  return exit.reason == EndReason::exited || exit.reason == EndReason::signaled ||
         exit.reason == EndReason::out_of_memory || exit.reason == EndReason::timed_out;
}

// A run can be over while processes of it hang in the kernel. Somebody has to look at the machine: the run says so.
void note_unkillable(RunRecord& run, const AttemptRecord& attempt, int processes) {
  if (processes <= 0) return;
  std::string nodes;
  for (const auto& slice : attempt.slices) nodes += (nodes.empty() ? "" : ", ") + slice.node_name;
  run.notes.push_back(fmt::format(
      "{} of attempt {} on {} cannot be killed (hanging in the kernel); the node is held until they are gone",
      processes == 1 ? "1 process" : fmt::format("{} processes", processes), attempt.number, nodes));
}

// The moves between the last report and the end happened, they were only not told.
void fill_in_moves(Change& change, const std::string& reason, UtcTime now) {
  const UtcTime started = change.attempt->exit.started;
  if (!change.run.started) change.run.started = started.micros != 0 ? started : now;
  if (change.run.state == RunState::queued) move(change, RunState::running, "reported with its end", now);
  if (change.run.state != RunState::finalizing) move(change, RunState::finalizing, reason, now);
}

}  // namespace

bool is_live(const RunRecord& run, const AttemptRecord& attempt) {
  return attempt.number == run.attempt && !attempt.ended && !is_terminal(run.state);
}

Change make_run(const Submission& submission, const RunSpec& spec, UtcTime now) {
  Change change{.run = {}, .attempt = std::nullopt, .moves = {}, .changed = true};
  change.run.id = submission.id;
  change.run.workspace = submission.workspace;
  change.run.submitted_by = submission.submitted_by;
  change.run.notes = submission.notes;
  change.run.spec = spec;
  change.run.created = now;
  change.run.generation = 1;
  move(change, RunState::starting, "submitted", now);
  move(change, RunState::preparing, "accepted", now);
  return change;
}

Result<Change> prepared(const RunRecord& run, std::string reason, UtcTime now) {
  if (run.state == RunState::queued) return unchanged(run);
  if (run.state != RunState::preparing) return wrong_state(run, "queued", "drop the result of its preparation");
  Change change = start_change(run);
  move(change, RunState::queued, std::move(reason), now);
  return change;
}

Result<Change> prepare_failed(const RunRecord& run, std::string message, UtcTime now) {
  if (run.state == RunState::failed) return unchanged(run);
  if (run.state != RunState::starting && run.state != RunState::preparing)
    return wrong_state(run, "failed by its preparation", "drop the result of its preparation");
  Change change = start_change(run);
  change.run.error = RunError{std::string(end_reason_name(EndReason::prepare_failed)), message};
  move(change, RunState::failed, std::move(message), now);
  return change;
}

Result<Change> interactive_started(const RunRecord& run, UtcTime now) {
  LATHE_CHECK(run.spec.kind == RunKind::interactive, "run {} is not interactive", run.id.value);
  Change change = start_change(run);
  move(change, RunState::queued, "it needs no compute", now);
  move(change, RunState::running, "driven by its client", now);
  change.run.started = now;
  return change;
}

Result<Change> interactive_ended(const RunRecord& run, std::optional<RunError> error, std::string reason, UtcTime now) {
  const RunState end = error ? RunState::failed : RunState::completed;
  if (run.spec.kind != RunKind::interactive)
    return base::fail(
        Error(Code::conflict, fmt::format("run {} is not interactive: it ends when its script does", run.id.value))
            .hint(fmt::format("to stop it: lathe run cancel {}", run.id.value)));
  if (run.state == end) return unchanged(run);
  if (run.state != RunState::running)
    return wrong_state(run, error ? "failed" : "completed", "it has already ended otherwise");
  Change change = start_change(run);
  change.run.error = std::move(error);
  move(change, RunState::finalizing, reason, now);
  move(change, end, std::move(reason), now);
  return change;
}

Result<Change> placed(const RunRecord& run, const std::optional<AttemptRecord>& current, std::vector<Slice> slices,
                      const base::Digest& token_hash, UtcTime now) {
  if (run.state != RunState::queued || live(run, current)) return wrong_state(run, "placed again", "plan anew");
  LATHE_CHECK(static_cast<int>(slices.size()) == run.spec.node_count, "run {} wants {} nodes and gets {}", run.id.value,
              run.spec.node_count, slices.size());
  AttemptRecord attempt;
  attempt.number = run.attempt + 1;
  attempt.slices = std::move(slices);
  attempt.token_hash = token_hash;
  attempt.placed = now;
  Change change = start_change(run, std::move(attempt));
  change.run.attempt = change.attempt->number;
  return change;
}

Result<Change> claimed(const RunRecord& run, const AttemptRecord& attempt, UtcTime now) {
  if (is_terminal(run.state) && attempt.number == run.attempt)
    return wrong_state(run, "claimed", "the run is over; this runner must stop");
  if (!is_live(run, attempt)) return fenced(run, attempt);
  if (attempt.claimed) return unchanged(run, attempt);
  Change change = start_change(run, attempt);
  change.attempt->claimed = now;
  change.run.started = change.run.started.value_or(now);
  if (run.state == RunState::queued)
    move(change, RunState::running, fmt::format("attempt {} was claimed", attempt.number), now);
  return change;
}

Result<Change> process_ended(const RunRecord& run, const AttemptRecord& attempt, UtcTime now) {
  if (!is_live(run, attempt)) return fenced(run, attempt);
  if (run.state == RunState::finalizing) return unchanged(run, attempt);
  if (!attempt.claimed) return wrong_state(run, "finalizing", "claim the attempt first");
  Change change = start_change(run, attempt);
  move(change, RunState::finalizing, "the process has ended", now);
  return change;
}

Result<Change> finished(const RunRecord& run, const AttemptRecord& attempt, const ExitRecord& exit, UtcTime now) {
  if (exit.reason == EndReason::none) return base::fail(Code::invalid, "an exit record needs a reason");
  if (attempt.number == run.attempt && attempt.ended && same_ending(attempt.exit, exit)) return unchanged(run, attempt);
  if (!is_live(run, attempt)) return fenced(run, attempt);

  Change change = start_change(run, attempt);
  change.attempt->exit = exit;
  change.attempt->ended = now;
  add_usage(change.run.usage, exit.usage);
  const Outcome outcome = decide_outcome(run, attempt, exit);
  if (outcome.kind == FailureKind::infrastructure) ++change.run.infrastructure_failures;
  if (outcome.kind == FailureKind::user) ++change.run.user_failures;
  change.run.error = outcome.error;
  note_unkillable(change.run, attempt, exit.unkillable);

  if (ran(attempt, exit)) fill_in_moves(change, outcome.what, now);
  if (change.run.state == outcome.next) return change;  // a retry of an attempt that nobody claimed never left Queued
  move(change, outcome.next, outcome.reason, now);
  return change;
}

Result<Change> unplaced(const RunRecord& run, const AttemptRecord& attempt, UtcTime now) {
  if (!is_live(run, attempt)) return fenced(run, attempt);
  Change change = start_change(run, attempt);
  change.attempt->ended = now;
  change.attempt->exit.reason = EndReason::node_lost;
  change.attempt->exit.message = "the runner was never started";
  change.attempt->exit.ended = now;
  if (run.state == RunState::cancel_requested) move(change, RunState::canceled, "nothing was running", now);
  return change;
}

Result<Change> cancel_requested(const RunRecord& run, const std::optional<AttemptRecord>& current, std::string reason,
                                UtcTime now) {
  if (run.state == RunState::cancel_requested || run.state == RunState::canceled) return unchanged(run, current);
  if (is_terminal(run.state)) return wrong_state(run, "canceled", "it has already ended");
  if (live(run, current) && current->stop_reason == EndReason::canceled) return unchanged(run, current);
  Change change = start_change(run);
  move(change, RunState::cancel_requested, std::move(reason), now);
  if (!live(run, current)) {
    move(change, RunState::canceled, "nothing was running", now);
    return change;
  }
  change.attempt = current;
  change.attempt->stop_asked = true;
  change.attempt->stop_reason = EndReason::canceled;
  return change;
}

Result<Change> preempt_requested(const RunRecord& run, const AttemptRecord& attempt) {
  if (!is_live(run, attempt)) return fenced(run, attempt);
  if (attempt.stop_asked) return unchanged(run, attempt);
  Change change = start_change(run, attempt);
  change.attempt->stop_asked = true;
  change.attempt->stop_reason = EndReason::preempted;
  return change;
}

}  // namespace lathe::model

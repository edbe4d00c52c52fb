#include "server/run_changes.h"

#include <algorithm>

#include "base/strings.h"
#include "db/attempts.h"
#include "db/computes.h"
#include "db/deleted_runs.h"
#include "db/environment_locks.h"
#include "db/events.h"
#include "db/experiments.h"
#include "db/node_claims.h"
#include "db/node_exits.h"
#include "db/run_inputs.h"
#include "db/runs.h"
#include "db/script_tokens.h"
#include "server/output_datasets.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::Connection;
using model::RunRecord;

namespace {

// Of one run; a runner that says more is not ours.
constexpr std::size_t kMostNotes = 200;

// "Queued > Running, Running > Finalizing", or what else was done.
std::string describe(const model::Change& change) {
  std::string text;
  for (const auto& move : change.moves)
    text +=
        fmt::format("{}{} > {}", text.empty() ? "" : ", ", model::state_name(move.from), model::state_name(move.to));
  return text.empty() ? fmt::format("attempt {}", change.run.attempt) : text;
}

// Who changes a run when no person does: the server for placements, the run's own runner for what it reports.
Caller by_server() { return {"server", 0, "dispatcher"}; }
Caller by_runner(const AttemptName& name) { return {"run " + name.run_id, 0, fmt::format("attempt {}", name.number)}; }

void write_change(Connection& connection, const RunRecord& before, const model::Change& change, const Caller& caller,
                  std::string_view action, base::UtcTime now) {
  db::runs::store(connection, before, change.run);
  if (change.attempt) db::attempts::upsert(connection, before.sequence, *change.attempt);
  db::events::append_moves(connection, change.run, change.moves);
  audit(connection, caller, now, action, before.id.value, describe(change));
}

// Interactive runs that the script of `parent` began and did not end: its token is gone, so nobody else would. They end
// as well as it did.
void end_children(Connection& connection, const RunRecord& parent, base::UtcTime now) {
  const std::string reason = "its parent has ended";
  for (const auto& child : db::runs::descendants(connection, parent.id)) {
    if (model::is_terminal(child.state) || child.spec.kind != model::RunKind::interactive ||
        child.submitted_by != "run " + parent.id.value)
      continue;
    auto change = base::value_or_throw(parent.state == model::RunState::completed
                                           ? model::interactive_ended(child, std::nullopt, reason, now)
                                           : model::cancel_requested(child, std::nullopt, reason, now));
    write_change(connection, child, change, by_server(), "run.end", now);
  }
}

Changed store_change(Connection& connection, const RunRecord& before, base::Result<model::Change> decided,
                     const Caller& caller, std::string_view action, base::UtcTime now) {
  auto change = base::value_or_throw(std::move(decided));
  if (change.changed) {
    write_change(connection, before, change, caller, action, now);
    if (before.children_count > 0 && model::is_terminal(change.run.state)) end_children(connection, change.run, now);
  }
  return {std::move(change.run), std::move(change.attempt), change.changed};
}

// A child belongs to its parent's workspace.
void check_parent(Connection& connection, const std::string& workspace, const model::RunId& parent) {
  if (parent.value.empty()) return;
  auto run = db::runs::find(connection, parent);
  if (!run || run->workspace != workspace)
    throw Error(Code::invalid, fmt::format("there is no run '{}' to be the parent", parent.value))
        .field("parent")
        .hint("name a run of the same workspace; lathe run list shows them");
}

model::Change get_ready(const RunRecord& run, const Wish& wish, base::UtcTime now) {
  if (run.spec.kind == model::RunKind::interactive) return base::value_or_throw(model::interactive_started(run, now));
  if (!run.spec.inputs.empty() || !wish.is_environment_ready)
    return {.run = run, .attempt = std::nullopt, .moves = {}, .changed = false};
  const bool is_built = wish.environment && wish.environment->lock;
  auto reason = is_built ? "its environment is here" : "the environment is the user's";
  return base::value_or_throw(model::prepared(run, reason, now));
}

std::string prepared_reason(const Prepared& prepared) {
  std::string reason;
  if (prepared.environment && prepared.environment->lock)
    reason = fmt::format("its environment is here: {}", prepared.environment->lock->hex().substr(0, 12));
  if (prepared.inputs.empty()) return reason;
  std::int64_t files = 0, bytes = 0;
  for (const auto& [name, input] : prepared.inputs) {
    files += input.files;
    bytes += input.bytes;
  }
  return fmt::format("{}{}its inputs are here: {} files, {}", reason, reason.empty() ? "" : "; ", files,
                     base::human_bytes(static_cast<std::uint64_t>(bytes)));
}

struct Loaded {
  RunRecord run;
  model::AttemptRecord attempt;
};

Loaded load_attempt(Connection& connection, const AttemptName& name) {
  auto run = db::runs::find(connection, {name.run_id});
  auto attempt = run ? db::attempts::find(connection, run->sequence, name.number) : std::nullopt;
  if (!attempt) throw Error(Code::fenced, fmt::format("run {} has no attempt {}", name.run_id, name.number));
  return {std::move(*run), std::move(*attempt)};
}

std::optional<model::AttemptRecord> current_attempt(Connection& connection, const RunRecord& run) {
  return run.attempt == 0 ? std::nullopt : db::attempts::find(connection, run.sequence, run.attempt);
}

bool ended_well(const model::ExitRecord& exit) {
  return exit.reason == model::EndReason::exited && exit.exit_code == 0;
}

}  // namespace

RunRecord get_live_run(Connection& connection, const AttemptName& name) {
  auto [run, attempt] = load_attempt(connection, name);
  if (!model::is_live(run, attempt)) throw Error(Code::fenced, "the attempt is over").hint("this runner must stop");
  return std::move(run);
}

RunRecord add_notes(Connection& connection, const AttemptName& name, const std::vector<std::string>& notes,
                    base::UtcTime now) {
  auto before = get_live_run(connection, name);
  auto after = before;
  for (const auto& note : notes)
    if (std::ranges::find(after.notes, note) == after.notes.end()) after.notes.push_back(note);
  if (after.notes == before.notes || after.notes.size() > kMostNotes) return before;
  ++after.generation;
  db::runs::store(connection, before, after);
  db::events::append_change(connection, after, "notes", notes.front(), now);
  audit(connection, by_runner(name), now, "run.notes", name.run_id);
  return after;
}

RunRecord get_run(Connection& connection, const std::string& workspace, const std::string& run_id) {
  auto run = db::runs::find(connection, {run_id});
  if (!run || run->workspace != workspace)
    throw Error(Code::not_found, fmt::format("there is no run '{}' in workspace '{}'", run_id, workspace))
        .field("run")
        .hint("lathe run list shows the runs there are");
  return *run;
}

Changed submit_run(Connection& connection, const model::Submission& submission, const Wish& wish, const Caller& caller,
                   base::UtcTime now) {
  const auto& spec = wish.spec;
  if (auto existing = db::runs::find(connection, submission.id)) {
    if (!db::runs::is_same_submit(connection, submission.id, submission.workspace, spec))
      throw Error(Code::conflict,
                  fmt::format("the run id '{}' is taken by a run with other content", submission.id.value))
          .field("id")
          .hint("submit with a new id");
    return {std::move(*existing), std::nullopt, false};
  }
  if (db::deleted_runs::contains(connection, submission.id))
    throw Error(Code::conflict, fmt::format("the run '{}' was deleted; its id is not used again", submission.id.value))
        .field("id")
        .hint("to run it once more, submit with a new id");
  // Again inside the transaction: the target may have been deleted since it was checked.
  const bool interactive = spec.kind == model::RunKind::interactive;
  if (!interactive) db::computes::get(connection, submission.workspace, spec.compute);
  check_parent(connection, submission.workspace, spec.parent);
  db::experiments::ensure(connection, submission.workspace, spec.experiment, now);
  auto made = model::make_run(submission, spec, now);
  // Nothing has to be built for the user's own interpreter or an environment that is here: without inputs the run is
  // ready for the queue at once.
  auto ready = get_ready(made.run, wish, now);
  db::runs::insert(connection, ready.run);
  db::runs::store_definition(connection, ready.run.sequence, wish.definition);
  if (wish.environment) {
    db::environment_locks::put_definition(connection, wish.environment->definition, *wish.environment_definition);
    db::run_environments::put(connection, ready.run.sequence, *wish.environment);
  }
  db::events::append_moves(connection, ready.run, made.moves);
  db::events::append_moves(connection, ready.run, ready.moves);
  audit(connection, caller, now, "run.submit", submission.id.value);
  return {std::move(ready.run), std::nullopt, true};
}

Changed end_interactive_run(Connection& connection, const RunRecord& run, const std::optional<model::RunError>& error,
                            const Caller& caller, base::UtcTime now) {
  auto reason = fmt::format("{} by {}", error ? "failed" : "completed", caller.name);
  return store_change(connection, run, model::interactive_ended(run, error, std::move(reason), now), caller, "run.end",
                      now);
}

Changed prepare_run(Connection& connection, const std::string& run_id, const Prepared& prepared, base::UtcTime now) {
  auto run = db::runs::get(connection, model::RunId{run_id});
  auto noted = run;
  noted.notes.insert(noted.notes.end(), prepared.notes.begin(), prepared.notes.end());
  auto changed = store_change(connection, run, model::prepared(noted, prepared_reason(prepared), now), by_server(),
                              "run.prepare", now);
  if (!changed.changed) return changed;
  db::run_inputs::put(connection, run.sequence, prepared.inputs);
  if (prepared.environment) db::run_environments::put(connection, run.sequence, *prepared.environment);
  return changed;
}

Changed fail_preparation(Connection& connection, const std::string& run_id, const std::string& message,
                         base::UtcTime now) {
  auto run = db::runs::get(connection, model::RunId{run_id});
  if (run.state != model::RunState::preparing) return {std::move(run), std::nullopt, false};  // canceled meanwhile
  return store_change(connection, run, model::prepare_failed(run, message, now), by_server(), "run.prepare", now);
}

Changed cancel_run(Connection& connection, const RunRecord& run, const Caller& caller, base::UtcTime now) {
  auto decided = model::cancel_requested(run, current_attempt(connection, run), "canceled by " + caller.name, now);
  return store_change(connection, run, std::move(decided), caller, "run.cancel", now);
}

Changed place_run(Connection& connection, const std::string& run_id, std::vector<model::Slice> slices,
                  const std::function<AttemptHashes(const RunRecord&, int)>& hashes, base::UtcTime now) {
  auto run = db::runs::get(connection, model::RunId{run_id});
  const int number = run.attempt + 1;
  const auto tokens = hashes(run, number);
  auto decided = model::placed(run, current_attempt(connection, run), std::move(slices), tokens.runner, now);
  auto placed = store_change(connection, run, std::move(decided), by_server(), "run.place", now);
  if (tokens.script) db::script_tokens::put(connection, run.sequence, number, *tokens.script);
  return placed;
}

Changed claim_attempt(Connection& connection, const AttemptName& name, int node, base::UtcTime now) {
  auto [run, attempt] = load_attempt(connection, name);
  if (node >= 0 && attempt.slices.size() > 1 && model::is_live(run, attempt))
    db::node_claims::insert_if_absent(connection, run.sequence, name.number, node);
  return store_change(connection, run, model::claimed(run, attempt, now), by_runner(name), "run.claim", now);
}

Changed end_process(Connection& connection, const AttemptName& name, base::UtcTime now) {
  // The claim is written behind its answer, so a crash or a full disk may have lost it.
  claim_attempt(connection, name, -1, now);
  auto [run, attempt] = load_attempt(connection, name);
  return store_change(connection, run, model::process_ended(run, attempt, now), by_runner(name), "run.finalize", now);
}

Changed preempt_attempt(Connection& connection, const AttemptName& name, base::UtcTime now) {
  auto [run, attempt] = load_attempt(connection, name);
  auto changed = store_change(connection, run, model::preempt_requested(run, attempt), by_server(), "run.preempt", now);
  if (changed.changed)
    db::events::append_change(connection, run, "attempt", "preempted: a dedicated run needs the node", now);
  return changed;
}

Changed unplace_run(Connection& connection, const AttemptName& name, base::UtcTime now) {
  auto [run, attempt] = load_attempt(connection, name);
  return store_change(connection, run, model::unplaced(run, attempt, now), by_server(), "run.unplace", now);
}

NodeFinished finish_node(Connection& connection, const AttemptName& name, int node, const model::ExitRecord& exit,
                         base::UtcTime now) {
  auto [run, attempt] = load_attempt(connection, name);
  if (node < 0 || static_cast<std::size_t>(node) >= attempt.slices.size())
    throw Error(Code::invalid, fmt::format("attempt {} of run {} has no node {}", name.number, name.run_id, node))
        .field("node");
  model::ExitRecord end = exit;
  NodeFinished out;
  if (attempt.slices.size() > 1) {
    if (attempt.ended && !db::node_exits::contains(connection, run.sequence, name.number, node))
      throw Error(Code::fenced, fmt::format("attempt {} of run {} is over", name.number, name.run_id));
    db::node_exits::insert_if_absent(connection, run.sequence, name.number, node, exit);
    std::vector<model::ExitRecord> exits;
    for (auto& [index, each] : db::node_exits::by_node(connection, run.sequence, name.number)) exits.push_back(each);
    if (exits.size() < attempt.slices.size()) {
      out.gang_failed = !std::all_of(exits.begin(), exits.end(), ended_well);
      out.run = std::move(run);
      return out;
    }
    end = model::gang_exit(exits);
  }
  static_cast<Changed&>(out) =
      store_change(connection, run, model::finished(run, attempt, end, now), by_runner(name), "run.finish", now);
  if (out.changed && out.run.state == model::RunState::completed) register_outputs(connection, out.run, now);
  out.attempt_over = true;
  return out;
}

}  // namespace lathe::server

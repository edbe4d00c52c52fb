#include "sim/ledger.h"

#include "sim/loop.h"

namespace lathe::sim {
namespace {

using model::RunState;

template <class... Args>
void promise(bool kept, fmt::format_string<Args...> format, Args&&... args) {
  if (!kept) throw Violation(fmt::format(format, std::forward<Args>(args)...));
}

bool holds(const Row& row) { return row.attempt && !row.attempt->ended; }

sched::ComputeId compute_of(const Row& row) { return {row.run.workspace, row.run.spec.compute}; }

}  // namespace

Ledger::Ledger(const model::Machine& machine, const std::vector<sched::Compute>& computes)
    : total_(sched::total_of(machine)) {
  for (const auto& compute : computes) computes_[compute.id] = compute;
}

void Ledger::committed(const Row* before, const Row& after, const std::vector<model::RunMove>& moves) {
  ++totals_.commits;
  check_moves(before, after, moves);
  check_attempts(before, after);
  const bool held = before && holds(*before), holding = holds(after);
  const bool replaced = held && holding && before->attempt->number != after.attempt->number;
  promise(!replaced, "run {} has two live attempts", after.run.sequence);
  if (held && !holding) give_back(*before);
  if (!held && holding) take(after);
}

void Ledger::check_moves(const Row* before, const Row& after, const std::vector<model::RunMove>& moves) {
  RunState at = before ? before->run.state : RunState::not_started;
  const RunNumber run = after.run.sequence;
  promise(!before || !model::is_terminal(at) || after.run.state == at, "run {} left the terminal state {}", run,
          model::state_name(at));
  for (const auto& move : moves) {
    promise(move.from == at, "run {}: an event says it left {} while it was {}", run, model::state_name(move.from),
            model::state_name(at));
    promise(model::can_move(move.from, move.to), "run {}: illegal move to {}", run, model::state_name(move.to));
    at = move.to;
    if (at == RunState::cancel_requested) canceled_.insert(run);
    totals_.completed += at == RunState::completed;
    totals_.failed += at == RunState::failed;
    totals_.canceled += at == RunState::canceled;
  }
  promise(at == after.run.state, "run {} is {} without an event", run, model::state_name(after.run.state));
  promise(!model::is_terminal(at) || !holds(after), "run {} has ended with a live attempt", run);
}

void Ledger::check_attempts(const Row* before, const Row& after) {
  const RunNumber run = after.run.sequence;
  const int old_number = before && before->attempt ? before->attempt->number : 0;
  const int new_number = after.attempt ? after.attempt->number : 0;
  promise(new_number == old_number || new_number == old_number + 1, "run {}: attempt {} follows {}", run, new_number,
          old_number);
  if (new_number == old_number) {
    const bool was_over = before && before->attempt && before->attempt->ended;
    promise(!was_over || after.attempt->exit.reason == before->attempt->exit.reason,
            "run {}: a zombie changed the end of attempt {}", run, new_number);
    return;
  }
  ++totals_.attempts;
  totals_.retries += new_number > 1;
  promise(!canceled_.contains(run), "run {} was started again after a cancel", run);
  const auto& retries = after.run.spec.retries;
  promise(new_number <= 1 + retries.infrastructure + retries.user,
          "run {} has attempt {} and declares only {} + {} retries", run, new_number, retries.infrastructure,
          retries.user);
}

void Ledger::take(const Row& row) {
  const RunNumber run = row.run.sequence;
  const auto& slices = row.attempt->slices;
  promise(static_cast<int>(slices.size()) == row.run.spec.node_count, "run {} got {} of {} nodes", run, slices.size(),
          row.run.spec.node_count);
  for (const auto& slice : slices) {
    promise(nodes_.emplace(row.run.workspace + "/" + slice.node_name, run).second, "node {} is given twice",
            slice.node_name);
    for (const auto& gpu : slice.gpus) promise(gpus_.emplace(gpu, run).second, "{} is given twice", gpu);
    held_ += {slice.millicores, slice.memory_bytes, static_cast<std::int64_t>(slice.gpus.size())};
  }
  promise(held_.fits_in(total_), "more than the machine is given out");
  int& busy = busy_[compute_of(row)] += static_cast<int>(slices.size());
  promise(busy <= computes_.at(compute_of(row)).max_nodes, "compute {} has {} busy nodes", row.run.spec.compute, busy);
}

void Ledger::give_back(const Row& row) {
  for (const auto& slice : row.attempt->slices) {
    nodes_.erase(row.run.workspace + "/" + slice.node_name);
    for (const auto& gpu : slice.gpus) gpus_.erase(gpu);
    held_ -= {slice.millicores, slice.memory_bytes, static_cast<std::int64_t>(slice.gpus.size())};
  }
  busy_[compute_of(row)] -= static_cast<int>(row.attempt->slices.size());
}

void Ledger::compare(const sched::State& state, const Store& store) const {
  sched::Resources free = total_;
  for (const auto& [number, row] : store.rows()) {  // the batch counts for the scheduler, so look through it
    const Row& now = *store.find(number);
    if (!holds(now)) continue;
    for (const auto& slice : now.attempt->slices)
      free -= {slice.millicores, slice.memory_bytes, static_cast<std::int64_t>(slice.gpus.size())};
  }
  // An end is known to the scheduler only when it is committed: it may hold more than the rows say, never less.
  promise(state.free().fits_in(free), "the scheduler thinks more is free than there is");
  for (const auto& [id, compute] : state.computes()) {
    promise(compute.nodes.up() <= compute.compute.max_nodes, "compute {} has {} nodes up", id.name, compute.nodes.up());
    promise(compute.nodes.up() >= compute.compute.min_nodes, "compute {} fell below min_nodes", id.name);
  }
}

void Ledger::submit_acknowledged(const Store& store, const model::RunId& id) {
  promise(store.find_committed(id), "{} is acknowledged before it is on disk", id.value);
}

void Ledger::cancel_acknowledged(const Store& store, const model::RunId& id) const {
  const Row* row = store.find_committed(id);
  promise(row && canceled_.contains(row->run.sequence), "the cancel of {} is acknowledged before it is on disk",
          id.value);
}

void Ledger::finish_acknowledged(const Store& store, const TaskKey& task) {
  const Row& row = store.rows().at(task.run);
  const bool replaced = row.run.attempt > task.attempt;
  promise(replaced || row.node_exits.contains(task.node),
          "run {}: the end of node {} is acknowledged before it is on disk", task.run, task.node);
}

void Ledger::check_end(const Store& store) const {
  for (const auto& [number, row] : store.rows())
    promise(model::is_terminal(row.run.state), "run {} is still {} at the end", number,
            model::state_name(row.run.state));
  promise(held_ == sched::Resources{} && nodes_.empty() && gpus_.empty(), "slices are still held at the end");
  promise(totals_.completed + totals_.failed + totals_.canceled == static_cast<std::int64_t>(store.rows().size()),
          "{} runs have {} ends", store.rows().size(), totals_.completed + totals_.failed + totals_.canceled);
}

}  // namespace lathe::sim

#include "sim/server.h"

#include "sim/oracle.h"

namespace lathe::sim {
namespace {

using model::EndReason;
using model::RunState;

constexpr base::Duration kGrace = std::chrono::seconds(10);

bool has_live_attempt(const Row& row) { return row.attempt && model::is_live(row.run, *row.attempt); }

// What the nodes of an attempt should do: stop when somebody asked, or when one of the gang has ended badly.
EndReason desired(const Row& row) {
  if (!row.attempt) return EndReason::none;
  if (row.attempt->stop_asked) return row.attempt->stop_reason;
  for (const auto& [node, exit] : row.node_exits)
    if (exit.reason != EndReason::exited || exit.exit_code != 0) return EndReason::canceled;
  return EndReason::none;
}

}  // namespace

Server::Server(Loop& loop, Store& store, Provider& provider, Ledger& ledger, const Site& site)
    : loop_(loop), store_(store), provider_(provider), ledger_(ledger), site_(site), state_(site.machine) {}

void Server::later(Micros delay, std::function<void()> action) {
  loop_.after(delay, [alive = alive_, action = std::move(action)] {
    if (*alive) action();
  });
}

void Server::open() {
  for (const auto& compute : site_.computes) state_.put_compute(compute);
  for (const auto& [number, row] : store_.rows())
    if (!model::is_terminal(row.run.state)) adopt(row);
  plan();
}

// The restart path of one run.
void Server::adopt(const Row& row) {
  const RunNumber run = row.run.sequence;
  if (row.run.state == RunState::preparing) return later(loop_.between(0, kSecond), [this, run] { prepare(run); });
  if (!has_live_attempt(row)) return state_.enqueue(sched::make_request(row.run));
  const sched::Time placed(std::chrono::microseconds(row.attempt->placed.micros));
  state_.start(sched::make_request(row.run), row.attempt->slices, placed);
  if (row.attempt->stop_asked) state_.mark_stopping(run, loop_.steady() + kGrace);
  for (int node = 0; node < row.run.spec.node_count; ++node) {
    const TaskKey task{run, row.attempt->number, node};
    if (row.node_exits.contains(node)) continue;
    switch (provider_.poll(task)) {
      case Provider::Life::unknown:
        provider_.start(task);
        break;
      case Provider::Life::alive:
        break;
      case Provider::Life::dead:
        later(loop_.between(kSecond, 5 * kSecond), [this, task] { lost(task); });
        break;
    }
  }
  push_stops(run);
}

void Server::submit(const model::RunId& id, const model::RunSpec& spec, Reply reply) {
  if (auto known = store_.find_id(id))
    return settle(*known, model::Change{store_.find(*known)->run, {}, {}, false}, reply);
  const RunNumber run = store_.next_number();
  model::Change made =
      model::make_run({.id = id, .workspace = "ws", .submitted_by = "sim", .notes = {}}, spec, loop_.utc());
  store_.write(run, made);
  if (loop_.chance(70))
    store_.write(run, *model::prepared(store_.find(run)->run, "nothing to prepare", loop_.utc()));
  else
    store_.after_commit([this, run] { later(loop_.between(0, 2 * kSecond), [this, run] { prepare(run); }); });
  store_.after_commit([this, run, reply] {
    synchronize(run);
    reply({});
  });
  commit_soon();
}

void Server::prepare(RunNumber run) {
  const model::RunRecord& record = store_.find(run)->run;
  Decision decision = loop_.chance(3) ? model::prepare_failed(record, "no such package", loop_.utc())
                                      : model::prepared(record, "environment is ready", loop_.utc());
  settle(run, decision, [](const Answer&) {});  // refused when it was canceled meanwhile
}

void Server::cancel(const model::RunId& id, Reply reply) {
  auto run = store_.find_id(id);
  if (!run) return;
  const Row& row = *store_.find(*run);
  settle(*run, model::cancel_requested(row.run, row.attempt, "canceled by a client", loop_.utc()), reply);
}

// Writes a decision and answers when it is durable; a refusal is answered at once.
void Server::settle(RunNumber run, const Decision& decision, const Reply& reply) {
  if (!decision) return reply({.error = decision.error().code()});
  store_.write(run, *decision);
  store_.after_commit([this, run, reply] {
    synchronize(run);
    push_stops(run);
    reply({.error = std::nullopt, .stop = desired(*store_.find(run))});
  });
  commit_soon();
}

// An old attempt has no row of its own here: only its number is left, and that is what fences it.
static model::AttemptRecord attempt_named(const Row& row, int number) {
  if (row.attempt && row.attempt->number == number) return *row.attempt;
  model::AttemptRecord old;
  old.number = number;
  return old;
}

void Server::claim(const TaskKey& task, Reply reply) {
  const Row& row = *store_.find(task.run);
  settle(task.run, model::claimed(row.run, attempt_named(row, task.attempt), loop_.utc()), reply);
}

void Server::process_ended(const TaskKey& task, Reply reply) {
  const Row& row = *store_.find(task.run);
  // The run is finalizing when its whole gang is; one node's process is not the run's.
  if (row.run.spec.node_count > 1) return reply({});
  settle(task.run, model::process_ended(row.run, attempt_named(row, task.attempt), loop_.utc()), reply);
}

void Server::finish(const TaskKey& task, const model::ExitRecord& exit, Reply reply) {
  const Row& row = *store_.find(task.run);
  const model::AttemptRecord attempt = attempt_named(row, task.attempt);
  if (!model::is_live(row.run, attempt)) {
    const bool heard = row.run.attempt == task.attempt && row.node_exits.contains(task.node) &&
                       row.node_exits.at(task.node).reason == exit.reason;
    if (heard) return settle(task.run, model::Change{row.run, {}, {}, false}, reply);
    return settle(task.run, model::finished(row.run, attempt, exit, loop_.utc()), reply);
  }
  store_.write_node_exit(task.run, task.node, exit);  // the first one counts
  std::vector<model::ExitRecord> exits;
  for (const auto& [node, known] : store_.find(task.run)->node_exits) exits.push_back(known);
  const bool all = static_cast<int>(exits.size()) == row.run.spec.node_count;
  const Row& now = *store_.find(task.run);
  settle(task.run,
         all ? model::finished(now.run, attempt, model::gang_exit(exits), loop_.utc())
             : Decision(model::Change{now.run, {}, {}, false}),
         reply);
}

void Server::lost(const TaskKey& task) {
  model::ExitRecord exit;
  exit.reason = EndReason::node_lost;
  finish(task, exit, [](const Answer&) {});
}

// Brings the scheduler in line with a row after a commit.
void Server::synchronize(RunNumber run) {
  const Row& row = *store_.find(run);
  if (has_live_attempt(row)) {
    if (row.attempt->stop_asked) state_.mark_stopping(run, loop_.steady() + kGrace);
    return;
  }
  if (row.run.state == RunState::queued && state_.find_waiting(run)) return;
  state_.remove(run, loop_.steady());
  if (row.run.state == RunState::queued) state_.enqueue(sched::make_request(row.run));
}

void Server::push_stops(RunNumber run) {
  const Row& row = *store_.find(run);
  const EndReason reason = desired(row);
  if (reason == EndReason::none || !has_live_attempt(row)) return;
  if (std::exchange(told_[{run, row.attempt->number}], reason) == reason) return;
  for (int node = 0; node < row.run.spec.node_count; ++node)
    provider_.push_stop({run, row.attempt->number, node}, reason);
}

void Server::commit_soon() {
  if (std::exchange(commit_scheduled_, true)) return;
  later(loop_.between(kMillisecond, 8 * kMillisecond), [this] { commit(); });
}

void Server::commit() {
  commit_scheduled_ = false;
  for (const auto& action : store_.commit()) action();
  plan();
}

void Server::plan() {
  const sched::Plan plan = sched::make_plan(state_, loop_.steady());
  if (site_.check_each_step) check_heads(plan);
  state_.apply(plan, loop_.steady(), kGrace);
  for (const auto& placement : plan.placements) place(placement);
  for (const auto& preemption : plan.preemptions) preempt(preemption);
  if (site_.check_each_step) ledger_.compare(state_, store_);
  arm_timer();
}

void Server::place(const sched::Placement& placement) {
  const RunNumber run = placement.number;
  const Row& row = *store_.find(run);
  const base::Digest token{};
  Decision decision = model::placed(row.run, row.attempt, placement.slices, token, loop_.utc());
  if (!decision) return state_.remove(run, loop_.steady());  // canceled in the batch under way
  store_.write(run, *decision);
  store_.after_commit([this, run, attempt = decision->attempt->number, nodes = row.run.spec.node_count] {
    for (int node = 0; node < nodes; ++node) provider_.start({run, attempt, node});
  });
  commit_soon();
}

void Server::preempt(const sched::Preemption& preemption) {
  const Row& row = *store_.find(preemption.victim);
  if (!row.attempt) throw Violation(fmt::format("run {} is preempted without an attempt", preemption.victim));
  settle(preemption.victim, model::preempt_requested(row.run, *row.attempt), [](const Answer&) {});
}

void Server::arm_timer() {
  auto due = state_.next_wakeup(loop_.steady());
  if (!due || (armed_ && *armed_ <= *due)) return;
  armed_ = due;
  const Micros delay = std::chrono::duration_cast<std::chrono::microseconds>(*due - loop_.steady()).count();
  later(std::max<Micros>(delay, 0), [this, at = *due] {
    if (armed_ != at) return;
    armed_.reset();
    plan();
  });
}

// Whoever starts behind the first run that cannot must not move that run's earliest start.
void Server::check_heads(const sched::Plan& plan) const {
  std::set<RunNumber> placed, victims;
  for (const auto& placement : plan.placements) placed.insert(placement.number);
  for (const auto& preemption : plan.preemptions) victims.insert(preemption.victim);
  if (placed.empty()) return;
  std::vector<std::tuple<bool, sched::QueueKey, const sched::Request*>> order;
  for (const auto& [id, compute] : state_.computes()) {
    int window = sched::kWindow;
    for (const auto& key : compute.queue) {
      if (--window < 0) break;
      order.emplace_back(compute.compute.priority == model::VmPriority::low_priority, key,
                         state_.find_waiting(key.number));
    }
  }
  std::ranges::sort(order);
  const sched::Time now = loop_.steady();
  std::vector<Held> without = held_by_running(state_, victims, now), with = without;
  for (RunNumber run : placed) with.push_back({now, now + state_.find_waiting(run)->longest, state_.find_waiting(run)});
  for (const auto& [low, key, request] : order) {
    if (placed.contains(key.number)) {
      without.push_back({now, now + request->longest, request});
      continue;
    }
    if (plain_earliest(state_, with, *request, now) > plain_earliest(state_, without, *request, now))
      throw Violation(fmt::format("the head, run {}, is delayed by a run behind it", key.number));
    return;
  }
}

}  // namespace lathe::sim

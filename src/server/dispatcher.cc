#include "server/dispatcher.h"

#include "base/log.h"
#include "db/attempts.h"
#include "db/computes.h"
#include "db/node_claims.h"
#include "db/node_exits.h"
#include "db/runs.h"
#include "db/script_tokens.h"
#include "model/sizes.h"
#include "sched/explain.h"
#include "sched/plan.h"

namespace lathe::server {

using base::Code;
using base::Error;
using model::EndReason;
using model::RunRecord;
using rt::Task;

namespace {

Error no_such_compute(const std::string& workspace, const std::string& name) {
  return Error(Code::invalid, fmt::format("workspace '{}' has no compute target '{}'", workspace, name))
      .field("compute")
      .hint("lathe compute list shows them; lathe compute create makes one");
}

}  // namespace

Dispatcher::Dispatcher(Core& core, Authority& authority, LiveAttempts& attempts, LiveLogs& logs, std::string runner_url)
    : core_(core),
      authority_(authority),
      attempts_(attempts),
      logs_(logs),
      state_(core.provider.capacity()),
      wake_(core.home),
      care_(core, authority, logs, std::move(runner_url),
            {.attempt_over = [this](const Changed& changed) { attempt_over(changed); },
             .gang_failed = [this](const std::string& run_id) { stop_gang(run_id); },
             .node_gone = [this](const compute::TaskName& task) { node_gone(task); }}) {}

// All that is live, in one read: the doors stay shut until it is known, however many runs wait.
struct Dispatcher::Stored {
  std::vector<model::ComputeTarget> computes;
  std::vector<RunRecord> runs;
  std::map<std::int64_t, model::AttemptRecord> attempts;  // these by the run's sequence
  std::map<std::int64_t, std::map<int, model::ExitRecord>> exits;
  std::map<std::int64_t, std::set<int>> claims;
  std::map<std::int64_t, base::Digest> scripts;  // hashes of their tokens
};

Task<void> Dispatcher::recover() {
  auto stored = co_await core_.database.read([](db::Connection& connection) {
    return Stored{db::computes::list_all(connection), db::runs::live(connection), db::attempts::open_ones(connection),
                  db::node_exits::of_live_runs(connection), db::node_claims::of_live_runs(connection),
                  db::script_tokens::of_live_runs(connection)};
  });
  for (const auto& target : stored.computes) compute_changed(target);
  for (const auto& run : stored.runs) recover_attempt(run, stored);
  co_await recover_lingering();
  base::log::info("recovered", {{"live", attempts_.size()}, {"queued", state_.waiting_count()}});
}

void Dispatcher::recover_attempt(const RunRecord& run, Stored& stored) {
  if (run.state == model::RunState::preparing) return;       // not yet for the queue
  if (run.spec.kind == model::RunKind::interactive) return;  // its client's, not ours to place or to lose
  auto found = stored.attempts.find(run.sequence);
  if (found == stored.attempts.end()) {
    state_.enqueue(sched::make_request(run));
    return;
  }
  const auto* attempt = &found->second;
  state_.start(sched::make_request(run), attempt->slices, core_.clock.steady());
  auto live = attempts_.add(run, *attempt);
  live->recovered = true;
  live->last_progress = core_.clock.steady();
  // One node alone has said so; of a gang it is not known which.
  if (run.state == model::RunState::finalizing && attempt->slices.size() == 1) live->delivering.insert(0);
  live->claimed_nodes = std::move(stored.claims[run.sequence]);
  auto script = stored.scripts.find(run.sequence);
  authority_.attempt_started(
      authority_.recovered_hashes(run, *attempt,
                                  script == stored.scripts.end() ? std::nullopt : std::optional(script->second)),
      run.id.value, attempt->number, run.workspace);
  logs_.attempt_started(run.sequence, attempt->number);
  for (const auto& [node, exit] : stored.exits[run.sequence]) {
    live->finished.insert(node);
    if (exit.reason != EndReason::exited || exit.exit_code != 0) attempts_.ask_stop(run.id.value, EndReason::canceled);
  }
  for (const auto& slice : attempt->slices) {
    if (live->finished.contains(slice.node)) continue;
    care_.begin(live, slice.node);
  }
  if (live->stop != EndReason::none) care_.enforce_stop(live);
}

Task<void> Dispatcher::recover_lingering() {
  for (const auto& task : co_await core_.provider.traces()) co_await recover_lingering(task);
}

Task<void> Dispatcher::recover_lingering(compute::TaskName task) {
  auto ended = co_await core_.database.read([&](db::Connection& connection) -> std::optional<sched::HeldSlice> {
    auto attempt = db::attempts::find(connection, task.run_sequence, task.attempt);
    if (!attempt || !attempt->ended || static_cast<std::size_t>(task.node) >= attempt->slices.size())
      return std::nullopt;
    auto run = db::runs::get(connection, task.run_sequence);
    return sched::HeldSlice{
        {run.workspace, run.spec.compute}, run.id, attempt->slices[static_cast<std::size_t>(task.node)]};
  });
  if (!ended) co_return;
  bool is_locked = true;  // until it is known that nothing lives there
  try {
    is_locked = (co_await core_.provider.find(task)).is_locked;
  } catch (const Error& error) {
    base::log::warn("what a run left cannot be looked at now", {{"task", task.text()}, {"why", error.text()}});
  }
  if (!is_locked) co_return;
  state_.hold({task.run_sequence, task.attempt, task.node}, std::move(*ended));
  care_.wait_until_gone(task);
}

void Dispatcher::start() { core_.scope.spawn("dispatcher", reconcile()); }

Task<void> Dispatcher::reconcile() {
  auto cancel = core_.scope.token();
  for (;;) {
    cancel.check();
    auto seen = wake_.version();
    run_once();
    auto due = state_.next_wakeup(core_.clock.steady());
    if (!due) {
      co_await wake_.changed(seen, cancel);
      continue;
    }
    // Wakes for whichever comes first: the timer only nudges.
    rt::CancelSource timer;
    rt::CancelSubscription stopping(cancel, [timer]() mutable { timer.cancel(); });
    core_.scope.spawn("wait for idle nodes",
                      [](Dispatcher& self, base::Duration wait, rt::CancelToken token) -> Task<void> {
                        co_await self.core_.home.sleep(wait, token);
                        self.nudge();
                      }(*this, std::max(base::Duration(0), *due - core_.clock.steady()), timer.token()));
    co_await wake_.changed(seen, cancel);
    timer.cancel();
  }
}

void Dispatcher::run_once() {
  auto now = core_.clock.steady();
  auto plan = sched::make_plan(state_, now);
  if (plan.empty()) return;
  state_.apply(plan, now, core_.site.stop_margin);
  for (auto& placement : plan.placements) core_.scope.spawn("place a run", place(std::move(placement)));
  for (const auto& preemption : plan.preemptions)
    if (auto live = attempts_.find(preemption.run.value))
      core_.scope.spawn("preempt a run", preempt({preemption.run.value, live->attempt.number}));
}

Task<void> Dispatcher::place(sched::Placement placement) {
  auto hashes = [this](const RunRecord& run, int attempt) {
    return hashes_of(authority_.attempt_token(run.id.value, run.sequence, attempt));
  };
  auto now = core_.clock.utc();
  std::optional<Error> failure;
  try {
    core_.reserve.require_room();
    auto placed = co_await core_.database.write([&](db::Connection& connection) {
      return place_run(connection, placement.run.value, placement.slices, hashes, now);
    });
    begin(attempts_.add(placed.run, *placed.attempt));
  } catch (const Error& error) {
    failure = error;
  }
  if (failure) co_await take_back(std::move(placement), *failure);
}

// Canceled or deleted meanwhile, or the disk is full. The slices are free again; what still waits is planned anew.
Task<void> Dispatcher::take_back(sched::Placement placement, Error why) {
  base::log::info("not placed", {{"run", placement.run.value}, {"why", why.text()}});
  state_.remove(placement.number, core_.clock.steady());
  auto run = co_await core_.database.read(
      [&](db::Connection& connection) { return db::runs::find(connection, placement.run); });
  if (run && run->state == model::RunState::queued) {
    state_.enqueue(sched::make_request(*run));
    co_await core_.home.sleep(std::chrono::seconds(1), core_.scope.token());
  }
  nudge();
}

void Dispatcher::begin(const LiveAttemptPtr& live) {
  const auto& attempt = live->attempt;
  const auto& run = live->run;
  auto hashes = hashes_of(authority_.attempt_token(run.id.value, run.sequence, attempt.number));
  authority_.attempt_started(hashes, run.id.value, attempt.number, run.workspace);
  logs_.attempt_started(live->run.sequence, attempt.number);
  for (const auto& slice : attempt.slices) care_.begin(live, slice.node);
  core_.events.notify(live->run.id.value);
}

Task<void> Dispatcher::preempt(AttemptName name) {
  auto now = core_.clock.utc();
  co_await core_.reserve.insist([&] {
    return core_.database.write([&](db::Connection& connection) { return preempt_attempt(connection, name, now); });
  });
  attempts_.ask_stop(name.run_id, EndReason::preempted);
  core_.events.notify(name.run_id);
  if (auto live = attempts_.find(name.run_id, name.number)) care_.enforce_stop(live);
}

void Dispatcher::submitted(const RunRecord& run) {
  if (run.state != model::RunState::queued) return;
  state_.enqueue(sched::make_request(run));
  nudge();
}

void Dispatcher::stop(const LiveAttemptPtr& live) {
  attempts_.ask_stop(live->run.id.value, EndReason::canceled);
  auto grace = std::chrono::seconds(live->run.spec.grace_seconds) + core_.site.stop_margin;
  state_.mark_stopping(live->run.sequence, core_.clock.steady() + grace);
  care_.enforce_stop(live);
}

void Dispatcher::stop_gang(const std::string& run_id) {
  if (auto live = attempts_.find(run_id); live && live->stop == EndReason::none) stop(live);
}

void Dispatcher::cancel_asked(const RunRecord& run) {
  if (model::is_terminal(run.state)) {
    state_.remove(run.sequence, core_.clock.steady());
    nudge();
    return;
  }
  auto live = attempts_.find(run.id.value);
  if (!live) return;
  live->run = run;
  stop(live);
}

void Dispatcher::edited(const RunRecord& run) {
  if (auto live = attempts_.find(run.id.value); live && live->run.generation < run.generation) live->run = run;
}

void Dispatcher::attempt_over(const Changed& changed) {
  const auto& run = changed.run;
  auto live = attempts_.find(run.id.value);
  if (live) {
    authority_.attempt_ended(live->attempt.token_hash);
    core_.scope.spawn("close logs", logs_.attempt_ended(run.sequence, live->attempt.number));
    attempts_.remove(run.id.value);
  }
  state_.remove(run.sequence, core_.clock.steady());
  // Not free yet: NodeCare says when nothing of the task lives any more.
  if (live)
    for (int node : live->lingering)
      state_.hold({run.sequence, live->attempt.number, node},
                  {{run.workspace, run.spec.compute}, run.id, live->attempt.slices[static_cast<std::size_t>(node)]});
  if (run.state == model::RunState::queued) state_.enqueue(sched::make_request(run));
  nudge();
}

void Dispatcher::node_gone(const compute::TaskName& task) {
  if (state_.let_go({task.run_sequence, task.attempt, task.node}, core_.clock.steady())) nudge();
}

void Dispatcher::compute_changed(const model::ComputeTarget& target) {
  const sched::ComputeId id{target.workspace, target.name};
  auto fitted = fit(target);
  unfit_.erase(id);
  if (!fitted) {
    base::log::error("a compute target no longer fits this machine",
                     {{"compute", target.name}, {"why", fitted.error().text()}});
    // Its runs stay, wait and say why; nothing new starts on it.
    auto without_nodes = sched::make_compute(target, {});
    without_nodes.min_nodes = without_nodes.max_nodes = 0;
    state_.put_compute(without_nodes);
    notes_.erase(id);
    unfit_.emplace(id, std::move(fitted).error());
    return;
  }
  state_.put_compute(sched::make_compute(target, fitted->size));
  notes_[id] = fitted->notes;
  nudge();
}

void Dispatcher::compute_removed(const std::string& workspace, const std::string& name) {
  notes_.erase({workspace, name});
  unfit_.erase({workspace, name});
  base::value_or_throw(state_.remove_compute({workspace, name}));
}

base::Result<model::FittedSize> Dispatcher::fit(const model::ComputeTarget& target) const {
  LATHE_TRY(auto size, model::get_size(target.vm_size));
  return model::fit_size(size, target.max_nodes, core_.provider.capacity(), core_.site.rules);
}

sched::Counts Dispatcher::counts(const model::ComputeTarget& target) const {
  sched::ComputeId id{target.workspace, target.name};
  return state_.find_compute(id) ? state_.counts(id) : sched::Counts{};
}

std::vector<const sched::HeldSlice*> Dispatcher::held(const model::ComputeTarget& target) const {
  return state_.held({target.workspace, target.name});
}

std::set<std::string> Dispatcher::runs_that_hold() const {
  std::set<std::string> runs;
  for (const auto& [id, compute] : state_.computes())
    for (const auto* held : state_.held(id)) runs.insert(held->run.value);
  return runs;
}

std::vector<std::string> Dispatcher::check_can_run(const std::string& workspace, const model::RunSpec& spec) const {
  auto found = state_.find_compute({workspace, spec.compute});
  if (!found) throw no_such_compute(workspace, spec.compute);
  if (auto unfit = unfit_.find({workspace, spec.compute}); unfit != unfit_.end())
    throw Error(unfit->second).field("compute");
  base::value_or_throw(sched::can_ever_run(spec, found->compute, core_.provider.capacity()));
  auto notes = notes_.find({workspace, spec.compute});
  return notes == notes_.end() ? std::vector<std::string>{} : notes->second;
}

bool Dispatcher::is_waiting(const RunRecord& run) const {
  // Also between plan and placement: the slices are promised, but there is no attempt yet.
  return state_.find_waiting(run.sequence) || (state_.find_running(run.sequence) && !attempts_.find(run.id.value));
}

std::optional<wire::Waiting> Dispatcher::explain(const RunRecord& run) const {
  if (run.state != model::RunState::queued) return std::nullopt;
  if (auto unfit = unfit_.find({run.workspace, run.spec.compute}); unfit != unfit_.end())
    return wire::Waiting{
        fmt::format("compute '{}' does not fit this machine: {}", run.spec.compute, unfit->second.message()),
        "when the compute target or the machine is changed"};
  auto why = sched::explain(state_, run.sequence);
  if (auto live = attempts_.find(run.id.value); live && !live->waits_for.empty())
    return wire::Waiting{fmt::format("its node is ready, but the machine is short of something: {}", live->waits_for),
                         "when there is enough of it again; this is tried every second"};
  if (!why) return wire::Waiting{"its nodes are ready", "its runner has started"};
  return wire::Waiting{why->reason, why->would_start_when};
}

LiveAttemptPtr Dispatcher::require_live(const std::string& run_id, int attempt) const {
  auto live = attempts_.find(run_id, attempt);
  if (!live)
    throw Error(Code::fenced, fmt::format("attempt {} of run {} is over or was replaced", attempt, run_id))
        .hint("this runner must stop");
  return live;
}

std::vector<LogStream> Dispatcher::log_streams(const std::string& run_id, int attempt) const {
  auto live = require_live(run_id, attempt);
  int nodes = static_cast<int>(live->attempt.slices.size());
  std::vector<LogStream> out;
  for (int node = 0; node < nodes; ++node) out.push_back({task_of(*live, node), wire::main_log_name(nodes, node)});
  return out;
}

}  // namespace lathe::server

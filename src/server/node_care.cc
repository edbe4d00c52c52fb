#include "server/node_care.h"

#include "base/log.h"
#include "server/sweep.h"
#include "wire/run.h"

namespace lathe::server {

using base::Code;
using base::Error;
using model::EndReason;
using rt::Task;

namespace {

constexpr base::Duration kKillPeriod = std::chrono::seconds(2);
constexpr base::Duration kShortagePause = std::chrono::seconds(1);

// How often a runner, or the adopter of a dead one's spool, is started before its node is given up as lost; the waits
// between grow from the first by three: twelve seconds in all.
constexpr int kMostStarts = 6;
base::Duration wait_before(int start) {
  base::Duration wait = std::chrono::milliseconds(100);
  for (; start > 1; --start) wait *= 3;
  return wait;
}

// No room, no descriptors, no processes, no memory: things of which there may be more a moment later.
bool is_shortage(const Error& error) { return error.code() == Code::no_space || error.code() == Code::unavailable; }

}  // namespace

compute::TaskName task_of(const LiveAttempt& live, int node) { return {live.run.sequence, live.attempt.number, node}; }

NodeCare::NodeCare(Core& core, Authority& authority, LiveLogs& logs, std::string runner_url, Report report)
    : core_(core), authority_(authority), logs_(logs), runner_url_(std::move(runner_url)), report_(std::move(report)) {}

void NodeCare::begin(const LiveAttemptPtr& live, int node) {
  core_.scope.spawn("tend a runner", keep_tending(live, node));
}

Task<compute::Provider::Found> NodeCare::find_runner(LiveAttemptPtr live, int node) {
  base::Duration wait = std::chrono::milliseconds(10);
  for (;;) {
    auto found = co_await core_.provider.find(task_of(*live, node));
    if (found.trace != compute::Provider::Trace::starting) co_return found;
    live->handles[node] = found.handle;  // one that never gets further can be ended by force
    co_await core_.home.sleep(wait, core_.scope.token());
    wait = std::min<base::Duration>(2 * wait, std::chrono::seconds(1));
  }
}

Task<std::string> NodeCare::start_next(LiveAttemptPtr live, int node, bool adopt, int& starts) {
  auto cancel = core_.scope.token();
  if (adopt)
    base::log::warn("a runner is gone; what it left is adopted", {{"run", live->run.id.value}, {"node", node}});
  if (starts > 0) co_await core_.home.sleep(wait_before(starts), cancel);
  if (live->is_settled(node)) co_return std::string();
  std::optional<Error> trouble;
  try {
    auto task = task_of(*live, node);
    ++starts;
    if (adopt) co_return co_await core_.provider.adopt(task, runner_url_);
    auto token = authority_.attempt_token(live->run.id.value, task.run_sequence, task.attempt);
    co_return co_await core_.provider.start({task, live->run.id.value, runner_url_, std::move(token)});
  } catch (const Error& error) {
    if (error.code() == Code::cancelled) throw;
    trouble = error;
  }
  // Told once, not with every try: a shortage may last.
  if (live->waits_for != trouble->text())
    base::log::error("a runner could not be started", {{"run", live->run.id.value}, {"why", trouble->text()}});
  if (!is_shortage(*trouble)) co_return std::string();
  // A run does not fail because the machine is short of something: it waits, and says for what.
  --starts;
  live->waits_for = trouble->text();
  co_await core_.home.sleep(kShortagePause, cancel);
  co_return std::string();
}

// Not one that was asked to stop, and not with a token that the attempt does not have (the admin's was replaced).
bool NodeCare::may_start(const LiveAttempt& live) const {
  return live.stop == EndReason::none &&
         base::sha256(authority_.attempt_token(live.run.id.value, live.run.sequence, live.attempt.number)) ==
             live.attempt.token_hash;
}

// Trouble of the moment (a full queue, no descriptors) must not leave a task that nobody looks after.
Task<void> NodeCare::keep_tending(LiveAttemptPtr live, int node) {
  for (;;) {
    std::optional<Error> trouble;
    try {
      co_await tend(live, node);
      co_return;
    } catch (const Error& error) {
      if (error.code() == Code::cancelled) throw;
      trouble = error;
    }
    base::log::warn("looking after a runner failed; again in a second",
                    {{"run", live->run.id.value}, {"why", trouble->text()}});
    live->recovered = true;  // whatever was started must be found again
    live->waits_for = trouble->text();
    co_await core_.home.sleep(std::chrono::seconds(1), core_.scope.token());
  }
}

Task<void> NodeCare::tend(LiveAttemptPtr live, int node) {
  const auto end = co_await bring_to_end(live, node);
  if (end == End::withdrawn && live->attempt.slices.size() == 1)
    co_await unplace(live);
  else if (end != End::settled)
    co_await lose_node(live, node,
                       end == End::withdrawn ? "the runner was never started"
                                             : "the runner is gone and left nothing to deliver");
  co_await clear_when_gone(core_, task_of(*live, node));
  live->lingering.erase(node);  // where the other nodes of a gang go on, nothing of this one is to be held later
  report_.node_gone(task_of(*live, node));
}

Task<NodeCare::End> NodeCare::bring_to_end(LiveAttemptPtr live, int node) {
  using Trace = compute::Provider::Trace;
  auto cancel = core_.scope.token();
  bool fresh = !live->recovered;  // nothing to look for: this server has just placed it
  for (int starts = 0; starts < kMostStarts;) {
    auto found = std::exchange(fresh, false) ? compute::Provider::Found{} : co_await find_runner(live, node);
    if (live->is_settled(node)) co_return End::settled;
    if (found.trace == Trace::wrecked || (found.trace == Trace::none && live->is_claimed(node))) co_return End::lost;
    // It died before its claim was answered, so nothing of the user's has run: another one may try.
    if (found.trace == Trace::dead && !live->is_claimed(node) && !found.has_order) {
      const bool is_cleared = co_await core_.provider.clear(task_of(*live, node));
      if (!is_cleared) {
        co_await core_.home.sleep(wait_before(1), cancel);
        continue;
      }
      found = {};
    }
    if (found.trace == Trace::none && !may_start(*live)) co_return End::withdrawn;
    if (found.only_delivers || found.trace == Trace::dead) {
      live->delivering.insert(node);
      live->last_progress = core_.clock.steady();
    }
    if (found.trace != Trace::alive) found.handle = co_await start_next(live, node, found.trace == Trace::dead, starts);
    live->handles[node] = found.handle;
    if (!found.handle.empty()) {
      live->waits_for.clear();
      co_await core_.provider.gone(found.handle, cancel);
    }
    if (live->is_settled(node)) co_return End::settled;
  }
  co_return End::lost;
}

void NodeCare::wait_until_gone(const compute::TaskName& task) {
  core_.scope.spawn("wait for what outlives its run", [](NodeCare& care, compute::TaskName of) -> Task<void> {
    co_await clear_when_gone(care.core_, of);
    care.report_.node_gone(of);
  }(*this, task));
}

Task<void> NodeCare::unplace(LiveAttemptPtr live) {
  auto now = core_.clock.utc();
  auto changed = co_await core_.reserve.insist([&] {
    return core_.database.write([&](db::Connection& connection) {
      return unplace_run(connection, {live->run.id.value, live->attempt.number}, now);
    });
  });
  report_.attempt_over(changed);
  core_.events.notify(live->run.id.value);
}

Task<void> NodeCare::lose_node(LiveAttemptPtr live, int node, std::string why) {
  AttemptName name{live->run.id.value, live->attempt.number};
  auto now = core_.clock.utc();
  model::ExitRecord exit;
  exit.reason = EndReason::node_lost;
  exit.message = std::move(why);
  exit.started = live->attempt.claimed.value_or(live->attempt.placed);
  exit.ended = now;
  // Before the end is written: whoever finds the folder after a crash must not take it for a leftover.
  std::vector<std::string> notes;
  if (auto kept = co_await core_.provider.keep(task_of(*live, node)); !kept.empty()) {
    exit.message = "the runner is gone, and what it left could not be delivered";
    notes.push_back(
        fmt::format("attempt {}: what node {} left could not be delivered; it is kept in {} on the server's machine: "
                    "copy what is needed, then remove that folder",
                    name.number, node, kept));
  }
  int nodes = static_cast<int>(live->attempt.slices.size());
  LogStream stream{task_of(*live, node), wire::main_log_name(nodes, node)};
  auto finished = co_await core_.reserve.insist([&]() -> Task<NodeFinished> {
    co_await logs_.seal_or_give_up(stream);
    co_return co_await core_.database.write([&](db::Connection& connection) {
      if (!notes.empty()) add_notes(connection, name, notes, now);
      return finish_node(connection, name, node, exit, now);
    });
  });
  live->finished.insert(node);
  live->lingering.insert(node);
  live->changed.notify();
  if (finished.gang_failed) report_.gang_failed(name.run_id);
  if (finished.attempt_over && finished.changed) report_.attempt_over(finished);
  core_.events.notify(name.run_id);
}

void NodeCare::enforce_stop(const LiveAttemptPtr& live) { core_.scope.spawn("enforce a stop", end_by_force(live)); }

bool NodeCare::may_force(const LiveAttempt& live, int node) const {
  if (live.finished.contains(node)) return false;
  // Longer each time: who hashes a huge file before it sends it makes no progress that we see.
  const auto patience = core_.site.delivery_patience * (1 << std::min(live.stalls, 10));
  return !live.delivering.contains(node) || core_.clock.steady() - live.last_progress > patience;
}

Task<void> NodeCare::end_by_force(LiveAttemptPtr live) {
  auto cancel = core_.scope.token();
  co_await core_.home.sleep(std::chrono::seconds(live->run.spec.grace_seconds) + core_.site.stop_margin, cancel);
  // Again and again: what holds a task's place may be a process that was found, or started, only since. Whoever is
  // ended here has its spool adopted.
  std::set<std::string> told;
  for (; !live->over; co_await core_.home.sleep(kKillPeriod, cancel))
    for (const auto& [node, handle] : live->handles) {
      if (handle.empty() || !may_force(*live, node)) continue;
      if (told.insert(handle).second)
        base::log::warn("a runner did not stop in time and is ended by force",
                        {{"run", live->run.id.value}, {"node", node}});
      core_.provider.kill(handle);
      if (!live->delivering.contains(node)) continue;
      ++live->stalls;
      live->last_progress = core_.clock.steady();
    }
}

}  // namespace lathe::server

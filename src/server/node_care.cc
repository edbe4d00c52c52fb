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
constexpr base::Duration kFullDiskPause = std::chrono::seconds(1);

// How often a runner, or the adopter of a dead one's spool, is started before its node is given up as lost; the waits
// between grow from the first by three: twelve seconds in all.
constexpr int kMostStarts = 6;
constexpr base::Duration kFirstRestart = std::chrono::milliseconds(100);

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

Task<std::string> NodeCare::start_runner(LiveAttemptPtr live, int node, bool adopt) {
  auto task = task_of(*live, node);
  for (bool is_full = true; is_full && !live->over && live->stop == EndReason::none;) {
    try {
      if (adopt) co_return co_await core_.provider.adopt(task, runner_url_);
      auto token = authority_.attempt_token(live->run.id.value, task.run_sequence, task.attempt);
      co_return co_await core_.provider.start({task, live->run.id.value, runner_url_, std::move(token)});
    } catch (const Error& error) {
      if (error.code() == Code::cancelled) throw;
      base::log::error("a runner could not be started", {{"run", live->run.id.value}, {"why", error.text()}});
      is_full = error.code() == Code::no_space;
    }
    // A run does not fail because our disk is full: it waits for room.
    if (is_full) co_await core_.home.sleep(kFullDiskPause, core_.scope.token());
  }
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
    co_await core_.home.sleep(std::chrono::seconds(1), core_.scope.token());
  }
}

Task<void> NodeCare::tend(LiveAttemptPtr live, int node) {
  using Trace = compute::Provider::Trace;
  auto cancel = core_.scope.token();
  auto task = task_of(*live, node);
  auto settled = [&] { return live->over || live->finished.contains(node); };
  auto wait = kFirstRestart;
  bool fresh = !live->recovered;  // nothing to look for: this server has just placed it
  bool withdrawn = false;         // no runner was ever started, and none will be
  for (int starts = 0; starts < kMostStarts;) {
    auto found = fresh ? compute::Provider::Found{} : co_await find_runner(live, node);
    if (settled()) break;
    if (found.trace == Trace::wrecked || (found.trace == Trace::none && live->is_claimed(node))) break;
    withdrawn = found.trace == Trace::none && !may_start(*live);
    if (withdrawn) break;
    if (found.trace == Trace::dead)
      base::log::warn("a runner is gone; what it left is adopted", {{"run", live->run.id.value}, {"node", node}});
    if (found.trace != Trace::alive) {
      if (starts++ > 0) co_await core_.home.sleep(std::exchange(wait, 3 * wait), cancel);
      if (settled()) break;
      found.handle = co_await start_runner(live, node, found.trace == Trace::dead);
    }
    fresh = false;
    live->handles[node] = found.handle;
    if (!found.handle.empty()) co_await core_.provider.gone(found.handle, cancel);
    if (settled()) break;
  }
  if (!settled() && withdrawn && live->attempt.slices.size() == 1)
    co_await unplace(live);
  else if (!settled())
    co_await lose_node(live, node,
                       withdrawn ? "the runner was never started" : "the runner is gone and left nothing to deliver");
  co_await clear_when_gone(core_, task);
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
  int nodes = static_cast<int>(live->attempt.slices.size());
  LogStream stream{task_of(*live, node), wire::main_log_name(nodes, node)};
  auto finished = co_await core_.reserve.insist([&]() -> Task<NodeFinished> {
    co_await logs_.seal_or_give_up(stream);
    co_return co_await core_.database.write(
        [&](db::Connection& connection) { return finish_node(connection, name, node, exit, now); });
  });
  live->finished.insert(node);
  live->changed.notify();
  if (finished.gang_failed) report_.gang_failed(name.run_id);
  if (finished.attempt_over && finished.changed) report_.attempt_over(finished);
  core_.events.notify(name.run_id);
}

void NodeCare::enforce_stop(const LiveAttemptPtr& live) { core_.scope.spawn("enforce a stop", end_by_force(live)); }

Task<void> NodeCare::end_by_force(LiveAttemptPtr live) {
  auto cancel = core_.scope.token();
  co_await core_.home.sleep(std::chrono::seconds(live->run.spec.grace_seconds) + kStopMargin, cancel);
  if (live->over) co_return;
  base::log::warn("a runner did not stop in time and is ended by force", {{"run", live->run.id.value}});
  // Again and again: what holds a task's place may be a process that was found, or started, only since.
  for (; !live->over; co_await core_.home.sleep(kKillPeriod, cancel))
    for (const auto& [node, handle] : live->handles)
      if (!handle.empty() && !live->finished.contains(node)) core_.provider.kill(handle);
}

}  // namespace lathe::server

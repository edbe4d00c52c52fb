#include "server/runner_desk.h"

#include <algorithm>

#include "db/attempts.h"
#include "db/environment_locks.h"
#include "db/events.h"
#include "db/runs.h"
#include "server/artifact_intake.h"
#include "server/input_resolver.h"
#include "server/run_environment.h"
#include "wire/run.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

namespace {

constexpr base::Duration kHidePatience = std::chrono::seconds(20);

// A token lives exactly as long as its attempt. What scripts are told is when that is over at the latest.
base::UtcTime token_expiry(const LiveAttempt& live) {
  const auto seconds = live.run.spec.max_run_duration_seconds + live.run.spec.grace_seconds;
  return {live.attempt.claimed.value_or(live.attempt.placed).micros + seconds * 1'000'000};
}

void require_node(const LiveAttempt& live, int node) {
  if (node < 0 || static_cast<std::size_t>(node) >= live.attempt.slices.size())
    throw Error(Code::invalid, fmt::format("attempt {} has no node {}", live.attempt.number, node)).field("node");
}

}  // namespace

LiveAttemptPtr RunnerDesk::get_live(const AttemptName& name) const {
  auto live = attempts_.find(name.run_id, name.number);
  if (!live)
    throw Error(Code::fenced, fmt::format("attempt {} of run {} is over or was replaced", name.number, name.run_id))
        .hint("this runner must stop");
  live->last_progress = core_.clock.steady();
  return live;
}

void RunnerDesk::note_progress(const net::Principal& who) {
  if (who.role != net::Role::run) return;
  if (auto live = attempts_.find(who.run_id, who.attempt)) live->last_progress = core_.clock.steady();
}

Task<db::workspaces::Workspace> RunnerDesk::workspace(std::string name) {
  if (auto known = workspaces_.find(name); known != workspaces_.end()) co_return known->second;
  auto row =
      co_await core_.database.read([&](db::Connection& connection) { return db::workspaces::get(connection, name); });
  workspaces_[name] = row;
  co_return row;
}

Task<void> RunnerDesk::store_claim(LiveAttemptPtr live, int node) {
  const bool is_gang = live->attempt.slices.size() > 1;
  if (live->attempt.claimed && (!is_gang || node < 0 || live->claimed_nodes.contains(node))) co_return;
  AttemptName name{live->run.id.value, live->attempt.number};
  auto now = core_.clock.utc();
  auto changed = co_await core_.database.write(
      [&](db::Connection& connection) { return claim_attempt(connection, name, node, now); });
  live->attempt.claimed = changed.attempt->claimed;
  if (is_gang && node >= 0) live->claimed_nodes.insert(node);
  dispatcher_.edited(changed.run);
  core_.events.notify(name.run_id);
}

Task<void> RunnerDesk::add_environment(const model::RunRecord& run, wire::RunnerOrder& order) {
  std::optional<db::run_environments::RunEnvironment> row;
  std::string definition;
  if (may_be_built(run.spec))
    co_await core_.database.read([&](db::Connection& connection) {
      row = db::run_environments::find(connection, run.sequence);
      if (row && !row->lock) definition = db::environment_locks::get_definition(connection, row->definition);
    });
  order_environment(environments_, core_.site, run.spec, row, definition, order);
}

Task<wire::RunnerOrder> RunnerDesk::claim(AttemptName name, int node, bool is_here) {
  auto live = get_live(name);
  require_node(*live, node);
  // On disk before the order leaves this process: after a crash nobody may believe that nothing has run. A full disk
  // refuses it, and the runner asks again.
  co_await store_claim(live, node);
  const auto& slices = live->attempt.slices;
  const auto& spec = live->run.spec;
  auto home = co_await workspace(live->run.workspace);
  wire::RunnerOrder order;
  order.run = live->run.id;
  order.attempt = name.number;
  order.node = node;
  order.node_count = static_cast<int>(slices.size());
  order.workspace = home.name;
  order.subscription_id = home.subscription_id;
  order.resource_group = home.resource_group;
  order.experiment = spec.experiment;
  order.command = spec.command;
  co_await add_environment(live->run, order);
  order.snapshot = spec.snapshot;
  order.slice = slices[static_cast<std::size_t>(node)];
  order.token_expiry = token_expiry(*live);
  order.max_run_duration_seconds = spec.max_run_duration_seconds;
  order.grace_seconds = spec.grace_seconds;
  order.log_name = wire::main_log_name(order.node_count, node);
  order.segment_bytes = static_cast<std::int64_t>(core_.site.log_segment_bytes);
  logs_.limit_segments(live->run.sequence, name.number, core_.site.log_segment_bytes);
  order.enforce_memory = core_.site.enforce_memory;
  order.mount_cache_bytes = static_cast<std::int64_t>(core_.site.mount_cache_bytes);
  order.mount_cache_folder = core_.site.mount_cache_folder;
  order.mount_read_timeout_seconds = core_.site.mount_read_timeout.count();
  order.inputs = co_await order_inputs(core_, live->run, is_here);
  for (const auto& [output, wanted] : spec.outputs) order.outputs.push_back({output, wanted.mode});
  co_return order;
}

Task<void> RunnerDesk::watch(AttemptName name, int node, rt::CancelToken cancel, net::BodyWriter& out) {
  auto live = get_live(name);
  // A runner that was given its order by an earlier version, which wrote the claim behind its answer, has claimed.
  if (!live->attempt.claimed) co_await core_.reserve.insist([&] { return store_claim(live, -1); });
  std::optional<model::EndReason> said;
  std::size_t told = 0;  // secrets that the runner has heard of in this stream
  while (!live->over) {
    // Nothing but the stop is said to a runner that is to stop: it listens no more, and "run" would be wrong.
    const bool runs_on = said == live->stop && live->stop == model::EndReason::none;
    if (runs_on && live->secrets.size() > told && !live->secrets.hides_all(node)) {
      told = live->secrets.size();
      co_await out.write("{\"desired\":\"run\",\"secrets\":true}\n");
      continue;
    }
    if (said == live->stop) {
      // An empty line when there is nothing to say: a runner that hears nothing for long connects anew.
      const auto seen = live->changed.version();
      if (!co_await live->changed.changed_within(seen, core_.home, core_.site.limits.heartbeat, cancel))
        co_await out.write("\n");
      continue;
    }
    said = live->stop;
    if (*said == model::EndReason::none)
      co_await out.write("{\"desired\":\"run\"}\n");
    else
      co_await out.write(fmt::format("{{\"desired\":\"stop\",\"reason\":\"{}\"}}\n", model::end_reason_name(*said)));
  }
}

Task<void> RunnerDesk::hide_secret(AttemptName name, std::string id, std::string value, rt::CancelToken cancel) {
  auto live = get_live(name);
  if (live->hides(id)) co_return;
  // A runner that has been told to stop listens no more.
  if (live->stop != model::EndReason::none)
    throw Error(Code::conflict, "the run is being stopped and is given no more secrets").field("secret");
  base::value_or_throw(live->secrets.add(id, value));
  live->changed.notify();
  const auto deadline = core_.clock.steady() + kHidePatience;
  core_.scope.spawn("hide secret", [](Core& core, LiveAttemptPtr waited) -> Task<void> {
    co_await core.home.sleep(kHidePatience, core.scope.token());
    waited->changed.notify();
  }(core_, live));
  while (!live->hides(id) && !live->over && core_.clock.steady() < deadline)
    co_await live->changed.changed(live->changed.version(), cancel);
  if (!live->hides(id))
    throw Error(Code::unavailable, "the run's node does not say that it hides the secret in its log")
        .field("secret")
        .hint("try again: it may be starting, or out of reach");
}

std::vector<GivenSecrets::Value> RunnerDesk::exchange_secrets(const AttemptName& name, int node,
                                                              const std::vector<std::string>& hidden) {
  auto live = get_live(name);
  require_node(*live, node);
  auto fresh = live->secrets.exchange(node, hidden);
  live->changed.notify();
  return fresh;
}

Task<void> RunnerDesk::process_ended(AttemptName name, int node) {
  auto live = get_live(name);
  // A runner of an earlier version does not say its node; most runs have one only.
  if (node < 0 && live->attempt.slices.size() == 1) node = 0;
  if (node >= 0) require_node(*live, node);
  // Known before it is on disk: from now on force would only hurt a delivery.
  if (node >= 0) live->delivering.insert(node);
  auto now = core_.clock.utc();
  auto changed = co_await core_.reserve.spend([&] {
    return core_.database.write([&](db::Connection& connection) { return end_process(connection, name, now); });
  });
  dispatcher_.edited(changed.run);
  core_.events.notify(name.run_id);
}

Task<void> RunnerDesk::put_artifacts(AttemptName name, std::vector<db::artifacts::Artifact> files) {
  auto live = get_live(name);
  auto now = core_.clock.utc();
  for (auto& file : files) {
    file.attempt = name.number;
    file.updated = now;
  }
  co_await require_blobs(core_, files, "files");
  co_await core_.database.write([&](db::Connection& connection) {
    auto run = db::runs::get(connection, live->run.id);
    auto attempt = db::attempts::find(connection, run.sequence, name.number);
    if (!attempt || !model::is_live(run, *attempt)) throw Error(Code::fenced, "the attempt is over");
    db::artifacts::upsert(connection, run.sequence, files);
    auto detail = fmt::format("{} files", files.size());
    db::events::append_change(connection, run, "artifacts", detail, now);
    audit(connection, {"run " + name.run_id, 0, fmt::format("attempt {}", name.number)}, now, "run.artifacts",
          name.run_id, detail);
  });
  core_.events.notify(name.run_id);
}

Task<void> RunnerDesk::put_outputs(AttemptName name, std::vector<OutputFile> files) {
  auto live = get_live(name);
  co_await put_output_files(core_, live->run, name, std::move(files));
}

Task<void> RunnerDesk::add_notes(AttemptName name, std::vector<std::string> notes) {
  get_live(name);
  auto now = core_.clock.utc();
  auto changed = co_await core_.database.write(
      [&](db::Connection& connection) { return server::add_notes(connection, name, notes, now); });
  dispatcher_.edited(changed);
  core_.events.notify(name.run_id);
}

Task<void> RunnerDesk::seal_log(AttemptName name, int node) {
  auto live = attempts_.find(name.run_id, name.number);
  int nodes = live ? static_cast<int>(live->attempt.slices.size()) : 0;
  if (node < 0 || node >= nodes) co_return;
  co_await logs_.seal_or_give_up({{live->run.sequence, name.number, node}, wire::main_log_name(nodes, node)});
}

Task<void> RunnerDesk::require_whole_logs(AttemptName name, std::map<std::string, std::uint64_t> log_bytes) {
  if (!attempts_.find(name.run_id, name.number)) co_return;  // told before, and over since
  for (const auto& [log, bytes] : log_bytes) {
    auto here = co_await logs_.size(log_of(name, log));
    // More is no reason to refuse: a spool that was cut by a power failure may have less than what was sent before.
    if (here < bytes)
      throw Error(Code::conflict, fmt::format("of the log '{}' {} of {} bytes have arrived", log, here, bytes))
          .field("logs")
          .hint("ask for the positions, send the rest, and finish again");
  }
}

Task<model::RunState> RunnerDesk::finish(AttemptName name, int node, model::ExitRecord exit,
                                         std::map<std::string, std::uint64_t> log_bytes) {
  auto now = core_.clock.utc();
  if (auto live = attempts_.find(name.run_id, name.number)) live->last_progress = core_.clock.steady();
  co_await require_whole_logs(name, std::move(log_bytes));
  auto finished = co_await core_.reserve.spend([&]() -> Task<NodeFinished> {
    // What followers have seen must be in the store before the run is over.
    co_await seal_log(name, node);
    co_return co_await core_.database.write(
        [&](db::Connection& connection) { return finish_node(connection, name, node, exit, now); });
  });
  if (auto live = attempts_.find(name.run_id, name.number)) {
    live->finished.insert(node);
    if (exit.unkillable > 0) live->lingering.insert(node);
    live->changed.notify();
  }
  if (finished.gang_failed) dispatcher_.stop_gang(name.run_id);
  if (finished.attempt_over && finished.changed) dispatcher_.attempt_over(finished);
  core_.events.notify(name.run_id);
  co_return finished.run.state;
}

LogStream RunnerDesk::log_of(const AttemptName& name, const std::string& log_name) const {
  auto live = get_live(name);
  int nodes = static_cast<int>(live->attempt.slices.size());
  for (int node = 0; node < nodes; ++node)
    if (wire::main_log_name(nodes, node) == log_name) return {{live->run.sequence, name.number, node}, log_name};
  throw Error(Code::invalid, fmt::format("the attempt has no log '{}'", log_name)).field("name");
}

}  // namespace lathe::server

#include "server/run_preparation.h"

#include "base/log.h"
#include "base/strings.h"
#include "db/runs.h"
#include "server/input_resolver.h"

namespace lathe::server {

using base::Code;
using base::Error;
using model::RunRecord;
using rt::Task;

Task<void> RunPreparation::recover() {
  auto runs = co_await core_.database.read([](db::Connection& connection) { return db::runs::live(connection); });
  for (const auto& run : runs) submitted(run);
}

void RunPreparation::submitted(const RunRecord& run) {
  if (run.state != model::RunState::preparing) return;
  working_.try_emplace(run.id.value);
  core_.scope.spawn("prepare a run", prepare(run));
}

void RunPreparation::canceled(const RunRecord& run) {
  if (auto work = working_.find(run.id.value); work != working_.end()) work->second.cancel.cancel();
}

std::optional<wire::Waiting> RunPreparation::explain(const RunRecord& run) const {
  auto work = working_.find(run.id.value);
  if (run.state != model::RunState::preparing || work == working_.end()) return dispatcher_.explain(run);
  return wire::Waiting{work->second.news, "its inputs are in the store"};
}

Task<void> RunPreparation::prepare(RunRecord run) {
  const auto id = run.id.value;
  rt::CancelSubscription stopping(core_.scope.token(),
                                  [cancel = working_.at(id).cancel]() mutable { cancel.cancel(); });
  std::optional<Error> failure;
  try {
    auto inputs = co_await resolve(run, working_.at(id).cancel.token());
    co_await queue(run, std::move(inputs));
  } catch (const Error& error) {
    failure = error;
  }
  working_.erase(id);
  // A server that stops leaves the run as it is; the next one goes on.
  if (core_.scope.token().cancelled() || !failure) co_return;
  co_await fail(std::move(run), *failure);
}

Task<model::ResolvedInputs> RunPreparation::resolve(const RunRecord& run, rt::CancelToken cancel) {
  model::ResolvedInputs out;
  for (const auto& [name, input] : run.spec.inputs) {
    auto news = [this, id = run.id.value, what = name](std::string text) {
      if (auto work = working_.find(id); work != working_.end())
        work->second.news = fmt::format("input '{}': {}", what, text);
    };
    std::optional<Error> failure;
    try {
      out[name] = co_await resolve_input(core_, urls_, run.workspace, input, news, cancel);
    } catch (const Error& error) {
      failure = error;
    }
    if (failure) throw std::move(*failure).during(fmt::format("preparing the input '{}'", name));
    // Made now, so that the claim of the runner need not wait for it.
    if (input.mode == model::InputMode::mount && out[name].tree)
      co_await core_.store_work.run([&] { return base::value_or_throw(core_.views.get(*out[name].tree)); });
  }
  co_return out;
}

Task<void> RunPreparation::queue(RunRecord run, model::ResolvedInputs inputs) {
  auto now = core_.clock.utc();
  auto changed = co_await core_.reserve.insist([&] {
    return core_.database.write(
        [&](db::Connection& connection) { return prepare_run(connection, run.id.value, inputs, now); });
  });
  dispatcher_.submitted(changed.run);
  core_.events.notify();
}

Task<void> RunPreparation::fail(RunRecord run, Error why) {
  base::log::info("a run could not be prepared", {{"run", run.id.value}, {"why", why.text()}});
  auto message = why.hint().empty() ? why.text() : fmt::format("{} (hint: {})", why.text(), why.hint());
  auto now = core_.clock.utc();
  co_await core_.reserve.insist([&] {
    return core_.database.write(
        [&](db::Connection& connection) { return fail_preparation(connection, run.id.value, message, now); });
  });
  core_.events.notify();
}

}  // namespace lathe::server

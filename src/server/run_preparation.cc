#include "server/run_preparation.h"

#include "base/log.h"
#include "base/strings.h"
#include "db/artifacts.h"
#include "db/environment_locks.h"
#include "db/events.h"
#include "db/runs.h"
#include "server/foreign_error.h"
#include "server/input_resolver.h"
#include "server/registry_tools.h"
#include "server/run_environment.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::run_environments::RunEnvironment;
using model::RunRecord;
using rt::Task;

namespace {

// What the build ended with, as the run shows it.
Error build_error(const std::string& stored) {
  const auto value = stored_json(stored);
  auto text = [&](const char* key) {
    const auto& field = value.at(key);
    return field.is_string() ? std::string(field.get_string()) : std::string();
  };
  return Error(base::code_from_name(text("code")), text("message"))
      .hint(text("hint").empty() ? fmt::format("the whole log is the run's file {}", kBuildLog) : text("hint"))
      .during("building the environment");
}

}  // namespace

Task<void> RunPreparation::recover() {
  auto runs = co_await core_.database.read(
      [](db::Connection& connection) { return db::runs::live(connection, model::RunState::preparing); });
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
  const auto& build = work->second.build;
  auto line = build ? builds_.news(build->id) : std::string();
  if (line.empty()) return wire::Waiting{work->second.news, work->second.until};
  return wire::Waiting{fmt::format("{}: {}", work->second.news, line), work->second.until};
}

// What is under way for one run; it goes however that ends.
class RunPreparation::Entry {
 public:
  Entry(RunPreparation& owner, std::string id) : owner_(owner), id_(std::move(id)) {}
  Entry(const Entry&) = delete;
  ~Entry() { owner_.working_.erase(id_); }
  Work& work() { return owner_.working_.at(id_); }

 private:
  RunPreparation& owner_;
  const std::string id_;
};

Task<std::optional<Error>> RunPreparation::try_to_prepare(
    RunRecord run, std::optional<db::environment_builds::Build>& waited_for) {
  Entry entry(*this, run.id.value);
  rt::CancelSubscription stopping(core_.scope.token(),
                                  [cancel = entry.work().cancel]() mutable { cancel.cancel(); });
  auto hold = core_.store.hold_leases();  // what is brought for the run stays until its row names it
  try {
    Prepared prepared;
    prepared.environment = co_await build(run, entry.work().cancel.token());
    if (prepared.environment) prepared.notes = replacement_notes(prepared.environment->substitutions_json);
    prepared.inputs = co_await resolve(run, entry.work().cancel.token());
    co_await queue(run, std::move(prepared));
  } catch (const std::exception& problem) {
    waited_for = std::move(entry.work().build);
    co_return as_error(problem);
  }
  co_return std::nullopt;
}

Task<void> RunPreparation::prepare(RunRecord run) {
  std::optional<db::environment_builds::Build> waited_for;
  auto failure = co_await try_to_prepare(run, waited_for);
  // A server that stops leaves the run as it is; the next one goes on.
  if (core_.scope.token().cancelled() || !failure) co_return;
  co_await fail(run, *failure);
  // Of a canceled run: what its build said until then, or more where others go on with it.
  if (waited_for && failure->code() == Code::cancelled) co_await keep_build_log(std::move(run), *waited_for);
}

Task<std::optional<RunEnvironment>> RunPreparation::build(const RunRecord& run, rt::CancelToken cancel) {
  Definition definition;
  auto row = co_await core_.database.read([&](db::Connection& connection) {
    auto found = db::run_environments::find(connection, run.sequence);
    if (found) definition.text = db::environment_locks::get_definition(connection, found->definition);
    return found;
  });
  if (!row || row->lock) co_return row;
  definition.name = row->name;
  definition.version = row->version;
  definition.digest = row->definition;
  if (auto spec = read_definition(definition); spec.user_managed && !spec.image.wanted()) co_return row;
  auto wish = build_wish(run.workspace, run.spec, std::move(definition));
  auto ready = co_await builds_.find_ready(run.workspace, build_key(wish.definition.digest, wish.source));
  if (!ready) {
    auto started = co_await builds_.start_for(std::move(wish), run);
    auto& work = working_.at(run.id.value);
    work.news = "its environment is built";
    work.until = "its environment is ready";
    work.build = started;
    row->build = started.id;
    auto ended = co_await builds_.wait(std::move(started), cancel);
    co_await keep_build_log(run, ended);
    if (ended.error_json) throw build_error(*ended.error_json);
    ready = EnvironmentBuilds::Ready{ended.lock.value(), ended.substitutions_json};
  }
  row->lock = ready->lock;
  row->substitutions_json = ready->substitutions_json;
  working_.at(run.id.value).build.reset();
  co_return row;
}

// The log is a file of the run, also when the build has failed.
Task<void> RunPreparation::keep_build_log(RunRecord run, EnvironmentBuilds::Build build) {
  auto ended = co_await builds_.over(std::move(build));
  if (!ended.log) co_return;
  db::artifacts::Artifact file;
  file.path = std::string(kBuildLog);
  file.digest = *ended.log;
  file.size = ended.log_bytes;
  file.updated = core_.clock.utc();
  co_await core_.reserve.insist([&] {
    return core_.database.write([&](db::Connection& connection) {
      auto now = db::runs::find(connection, run.id);
      if (!now || now->sequence != run.sequence) return;  // deleted meanwhile
      db::artifacts::upsert(connection, run.sequence, {&file, 1});
      db::events::append_change(connection, *now, "artifacts", std::string(kBuildLog), file.updated);
    });
  });
}

Task<model::ResolvedInputs> RunPreparation::resolve(const RunRecord& run, rt::CancelToken cancel) {
  model::ResolvedInputs out;
  for (const auto& [name, input] : run.spec.inputs) {
    auto news = [this, id = run.id.value, what = name](std::string text) {
      auto work = working_.find(id);
      if (work == working_.end()) return;
      work->second.news = fmt::format("input '{}': {}", what, text);
      work->second.until = "its inputs are in the store";
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

Task<void> RunPreparation::queue(RunRecord run, Prepared prepared) {
  auto now = core_.clock.utc();
  auto changed = co_await core_.reserve.insist([&] {
    return core_.database.write(
        [&](db::Connection& connection) { return prepare_run(connection, run.id.value, prepared, now); });
  });
  dispatcher_.submitted(changed.run);
  core_.events.notify(changed.run.id.value);
}

Task<void> RunPreparation::fail(RunRecord run, Error why) {
  base::log::info("a run could not be prepared", {{"run", run.id.value}, {"why", why.text()}});
  auto message = why.hint().empty() ? why.text() : fmt::format("{} (hint: {})", why.text(), why.hint());
  auto now = core_.clock.utc();
  co_await core_.reserve.insist([&] {
    return core_.database.write(
        [&](db::Connection& connection) { return fail_preparation(connection, run.id.value, message, now); });
  });
  core_.events.notify(run.id.value);
}

}  // namespace lathe::server

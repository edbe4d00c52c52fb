#include "server/environment_builds.h"

#include <boost/json.hpp>

#include "base/log.h"
#include "db/environment_locks.h"
#include "db/events.h"
#include "db/run_environments.h"
#include "db/runs.h"
#include "server/environment_build_work.h"
#include "server/registry_tools.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;
namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPieceBytes = 64u << 10;
// Who a build is made by when no person asked for it: "run <id>".
constexpr std::string_view kRunPrefix = "run ";

json::value time_json(const std::optional<base::UtcTime>& time) {
  return time ? json::value(base::format_utc(*time)) : json::value(nullptr);
}

json::value text_or_null(const std::string& text) { return text.empty() ? json::value(nullptr) : json::value(text); }

}  // namespace

json::object build_json(const db::environment_builds::Build& build) {
  return {{"id", build.id},
          {"workspace", build.workspace},
          {"environment", text_or_null(build.environment)},
          {"version", text_or_null(build.version)},
          {"definition", build.definition.hex()},
          {"state", db::environment_builds::state_name(build.state)},
          {"lock", build.lock ? json::value(build.lock->hex()) : json::value(nullptr)},
          {"error", build.error_json ? stored_json(*build.error_json) : json::value(nullptr)},
          {"substitutions", stored_json(build.substitutions_json)},
          {"log_bytes", build.log_bytes},
          {"created", base::format_utc(build.created)},
          {"started", time_json(build.started)},
          {"ended", time_json(build.ended)},
          {"created_by", build.created_by}};
}

std::string substitutions_json(const envs::Lock& lock) {
  json::array all;
  for (const auto& each : lock.content.substitutions)
    all.push_back({{"rule", each.rule}, {"asked", each.asked}, {"given", each.given}, {"why", each.why}});
  return json::serialize(all);
}

EnvironmentBuilds::EnvironmentBuilds(Core& core, EnvironmentSite& site, fs::path folder)
    : core_(core),
      site_(site),
      folder_(std::move(folder)),
      turns_(core.home, kThreads),
      starting_(core.home),
      collecting_(core.home) {}

EnvironmentBuilds::WorkPtr EnvironmentBuilds::find_work(std::int64_t id) const {
  auto found = works_.find(id);
  return found == works_.end() ? nullptr : found->second;
}

// A build of the database becomes one under way.
EnvironmentBuilds::WorkPtr EnvironmentBuilds::adopt(Build build) {
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  auto log = std::make_shared<BuildLog>(folder_ / fmt::format("{}.log", build.id), core_.home);
  auto work = std::make_shared<Work>(std::move(build), std::move(log), core_.home);
  works_[work->build.id] = work;
  core_.scope.spawn("build an environment", run(work));
  return work;
}

Task<void> EnvironmentBuilds::recover() {
  struct Found {
    Build build;
    bool wanted = false;
  };
  auto found = co_await core_.database.read([](db::Connection& connection) {
    std::vector<Found> all;
    for (auto& build : db::environment_builds::live(connection)) {
      bool wanted = !build.created_by.starts_with(kRunPrefix) || db::run_environments::is_awaited(connection, build.id);
      all.push_back({std::move(build), wanted});
    }
    return all;
  });
  co_await recover_compiling();
  for (auto& each : found) {
    auto work = adopt(each.build);
    work->asked = !each.build.created_by.starts_with(kRunPrefix);
    if (each.wanted)
      work->log->line("the server was started again; the build goes on");
    else
      cancel(each.build.id, "the end of the run that needed it");
  }
}

Task<void> EnvironmentBuilds::recover_compiling() {
  auto left = co_await core_.files.run(core_.home, [&] {
    std::vector<base::Digest> locks;
    std::error_code failed;
    for (fs::directory_iterator entry(folder_, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed))
      if (auto name = entry->path().filename().string(); name.starts_with(kCompilePrefix))
        if (auto lock = base::Digest::parse(name.substr(kCompilePrefix.size()))) locks.push_back(*lock);
    return locks;
  });
  for (const auto& lock : left) compile_later(lock);
}

void EnvironmentBuilds::stop() {
  for (auto& [id, work] : works_) work->stop.request_stop();
}

Task<std::optional<EnvironmentBuilds::Ready>> EnvironmentBuilds::find_ready(std::string workspace, base::Digest key) {
  auto locked = co_await core_.database.read(
      [&](db::Connection& connection) { return db::environment_locks::find(connection, workspace, key); });
  if (!locked) co_return std::nullopt;
  auto here = co_await core_.files.run(core_.home, [&] {
    const auto& cache = site_.cache();
    return cache.find(locked->lock).has_value() && cache.was_checked_since_boot(locked->lock);
  });
  if (!here) co_return std::nullopt;
  co_return Ready{locked->lock, std::move(locked->substitutions_json)};
}

Task<EnvironmentBuilds::WorkPtr> EnvironmentBuilds::join_or_begin(Wish wish, Caller caller,
                                                                  const model::RunRecord* run) {
  auto turn = co_await starting_.lock();
  Build build;
  build.workspace = wish.workspace;
  build.environment = wish.definition.name;
  build.version = wish.definition.version;
  build.definition = wish.definition.digest;
  build.key = build_key(wish.definition.digest, wish.source);
  build.source = wish.source;
  build.refresh = wish.refresh;
  for (const auto& [id, work] : works_) {
    const auto& other = work->build;
    bool same = other.workspace == build.workspace && other.key == build.key && other.refresh == build.refresh;
    if (same && !other.ended && work->canceled_by.empty()) co_return work;
  }
  core_.reserve.require_room();
  build.created = core_.clock.utc();
  build.created_by = caller.name;
  auto stored = co_await core_.database.write([&](db::Connection& connection) {
    db::environment_locks::put_definition(connection, build.definition, wish.definition.text);
    auto made = db::environment_builds::insert(connection, build);
    db::events::append_build(connection, made.workspace, made.id, "waiting", made.created);
    audit(connection, caller, made.created, "environment.build", fmt::format("build {}", made.id),
          made.environment.empty() ? made.definition.hex() : fmt::format("{}:{}", made.environment, made.version));
    return made;
  });
  core_.events.notify();
  auto work = adopt(std::move(stored));
  work->asked = run == nullptr;
  co_return work;
}

Task<EnvironmentBuilds::Build> EnvironmentBuilds::start(Wish wish, Caller caller) {
  auto work = co_await join_or_begin(std::move(wish), std::move(caller), nullptr);
  work->asked = true;
  co_return work->build;
}

Task<EnvironmentBuilds::Build> EnvironmentBuilds::start_for(Wish wish, const model::RunRecord& run) {
  const auto id = run.id.value;
  const auto sequence = run.sequence;
  auto work = co_await join_or_begin(std::move(wish), {std::string(kRunPrefix) + id, 0, "preparation"}, &run);
  // An event of the run: who follows it can show the log of the build while it grows.
  co_await core_.database.write([&](db::Connection& connection) {
    db::run_environments::set_build(connection, sequence, work->build.id);
    if (auto now = db::runs::find(connection, run.id))
      db::events::append_change(connection, *now, "environment", fmt::format("build {}", work->build.id),
                                core_.clock.utc());
  });
  core_.events.notify(id);
  co_return work->build;
}

Task<EnvironmentBuilds::Build> EnvironmentBuilds::wait(Build build, rt::CancelToken cancel) {
  auto work = find_work(build.id);
  if (!work) co_return co_await over(std::move(build));
  ++work->runs;
  std::optional<Error> given_up;
  try {
    while (!work->over) co_await work->changed.changed(work->changed.version(), cancel);
  } catch (const Error& error) {
    given_up = error;
  }
  if (--work->runs == 0 && given_up && !work->asked && !core_.scope.token().cancelled())
    this->cancel(build.id, "the cancel of the run that needed it");
  if (given_up) throw *given_up;
  co_return work->build;
}

Task<EnvironmentBuilds::Build> EnvironmentBuilds::over(Build build) {
  if (auto work = find_work(build.id)) {
    while (!work->over) co_await work->changed.changed(work->changed.version(), core_.scope.token());
    co_return work->build;
  }
  auto row = co_await core_.database.read(
      [&](db::Connection& connection) { return db::environment_builds::find(connection, build.workspace, build.id); });
  co_return row.value_or(std::move(build));
}

void EnvironmentBuilds::cancel(std::int64_t id, const std::string& who) {
  auto work = find_work(id);
  if (!work || work->over || !work->canceled_by.empty()) return;
  work->canceled_by = who;
  work->log->line(fmt::format("given up: {}", who));
  work->stop.request_stop();
  turns_.look_again();
}

EnvironmentBuilds::Build EnvironmentBuilds::current(Build build) const {
  auto work = find_work(build.id);
  if (!work) return build;
  build = work->build;
  if (!work->over) build.log_bytes = static_cast<std::int64_t>(work->log->size());
  return build;
}

std::string EnvironmentBuilds::news(std::int64_t id) const {
  auto work = find_work(id);
  return work ? work->log->last_line() : std::string();
}

Task<void> EnvironmentBuilds::copy_log(Build build, std::uint64_t offset, std::uint64_t length, bool follow,
                                       rt::CancelToken cancel, net::BodyWriter& out) {
  if (auto work = find_work(build.id)) {
    auto& log = *work->log;
    while (length > 0) {
      cancel.check();
      auto seen = log.grown().version();
      if (offset < log.size()) {
        auto bytes = log.read(offset, std::min({kPieceBytes, length, log.size() - offset}));
        if (bytes.empty()) co_return;
        offset += bytes.size();
        length -= bytes.size();
        co_await out.write(bytes);
        continue;
      }
      if (!follow || work->over) co_return;
      co_await log.grown().changed(seen, cancel);
    }
    co_return;
  }
  auto ended = co_await over(build);
  if (!ended.log || offset >= static_cast<std::uint64_t>(ended.log_bytes)) co_return;
  auto blob = co_await core_.store_work.open_blob(*ended.log);
  co_await out.write_file({blob.fd(), offset, std::min(length, blob.size() - offset)});
}

Task<envs::Lock> EnvironmentBuilds::read_lock(base::Digest digest) {
  auto text = co_await core_.files.run(core_.home, [&] { return core_.store.read(digest, wire::kMaxJsonBytes); });
  if (!text)
    throw Error(Code::not_found, fmt::format("there is no lock {}", digest.hex()))
        .field("digest")
        .hint("lathe env explain NAME shows the lock of an environment");
  co_return base::value_or_throw(envs::parse_lock(*text));
}

Task<envs::Collected> EnvironmentBuilds::collect(envs::CollectPolicy policy, bool dry_run, Caller caller) {
  auto turn = co_await collecting_.lock();
  auto collected = co_await core_.store_work.run_alone("a collection of environments", {}, [&](const StoreWork::GoOn&) {
    return base::value_or_throw(site_.cache().collect(policy, dry_run));
  });
  if (dry_run || collected.removed.empty()) co_return collected;
  for (const auto& entry : collected.removed) compiled_.erase(entry.lock);
  auto now = core_.clock.utc();
  co_await core_.database.write([&](db::Connection& connection) {
    audit(connection, caller, now, "environment.gc", "environments",
          fmt::format("{} removed", collected.removed.size()));
  });
  base::log::info("environments were removed", {{"count", collected.removed.size()}, {"bytes", collected.bytes}});
  co_return collected;
}

}  // namespace lathe::server

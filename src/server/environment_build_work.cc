// What a build does: lock, keep the lock, realise, end.
#include "server/environment_build_work.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <fstream>

#include "base/log.h"
#include "base/strings.h"
#include "db/environment_locks.h"
#include "db/events.h"
#include "envs/locker.h"
#include "server/environment_credentials.h"
#include "server/environment_files.h"
#include "server/foreign_error.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::environment_builds::State;
using rt::Task;
namespace json = boost::json;

namespace {

// Of each definition; those of runs are kept besides, as long as the runs.
constexpr int kKeptBuilds = 20;

std::string error_json(const Error& error) {
  json::object out{{"code", base::code_name(error.code())}, {"message", error.text()}};
  out["hint"] = error.hint().empty() ? json::value(nullptr) : json::value(error.hint());
  return json::serialize(out);
}

}  // namespace

Task<void> EnvironmentBuilds::run(WorkPtr work) {
  rt::CancelSubscription stopping(core_.scope.token(), [work] { work->stop.request_stop(); });
  std::optional<Error> failure;
  try {
    auto turn = co_await turns_.take(core_.scope.token(), [work] { return work->stop.stop_requested(); });
    co_await lock_and_realise(work);
  } catch (const std::exception& problem) {
    failure = as_error(problem);
  }
  if (core_.scope.token().cancelled()) co_return;  // the next server goes on
  co_await finish(std::move(work), std::move(failure));
}

Task<void> EnvironmentBuilds::lock_and_realise(WorkPtr work) {
  work->build.started = core_.clock.utc();
  Definition definition;
  definition.text = co_await core_.database.read([&](db::Connection& connection) {
    return db::environment_locks::get_definition(connection, work->build.definition);
  });
  const auto spec = read_definition(definition);
  auto lock = co_await get_lock(work, spec);
  work->build.lock = lock.digest;
  work->build.substitutions_json = substitutions_json(lock);
  work->build.state = State::building;
  co_await store(work, "building");
  co_await realise(work, lock);
}

Task<envs::Lock> EnvironmentBuilds::get_lock(WorkPtr work, const envs::Spec& spec) {
  if (!work->build.refresh) {
    auto known = co_await core_.database.read([&](db::Connection& connection) {
      return db::environment_locks::find(connection, work->build.workspace, work->build.key);
    });
    if (known) {
      work->log->line(fmt::format("locked already: {}", known->lock.hex()));
      co_return co_await read_lock(known->lock);
    }
  }
  co_return co_await make_lock(work, spec);
}

Task<envs::Lock> EnvironmentBuilds::make_lock(WorkPtr work, const envs::Spec& spec) {
  work->build.state = State::locking;
  co_await store(work, "locking");
  auto credentials = co_await index_credentials(core_, work->build.workspace, index_urls(spec));
  std::optional<envs::Lock> lock;
  auto resolve = [&] {
    auto settings = site_.for_locking();
    settings.credentials = credentials;
    if (work->build.source) settings.source_folder = base::value_or_throw(core_.views.get(*work->build.source));
    auto log = [&](std::string_view line) { work->log->line(line); };
    const auto way_out = site_.open_way_out(settings, log);
    lock = base::value_or_throw(envs::make_lock(settings, spec, log, work->stop.get_token()));
  };
  co_await with_room(work, resolve);
  co_await keep_lock(work, *lock);
  co_return *lock;
}

// The document and the SDK are in the store before a row names them.
Task<void> EnvironmentBuilds::keep_lock(WorkPtr work, const envs::Lock& lock) {
  co_await keep_lock_blobs(core_, lock);
  auto now = core_.clock.utc();
  auto files = lock_files(lock);
  co_await core_.reserve.spend([&] {
    return core_.database.write([&](db::Connection& connection) {
      db::environment_locks::put(connection, work->build.workspace, work->build.key,
                                 {lock.digest, substitutions_json(lock), now, work->build.created_by}, files);
      audit(connection, {work->build.created_by, 0, fmt::format("build {}", work->build.id)}, now, "environment.lock",
            fmt::format("{}:{}", work->build.environment, work->build.version), lock.digest.hex());
    });
  });
}

Task<void> EnvironmentBuilds::realise(WorkPtr work, const envs::Lock& lock) {
  auto credentials = co_await index_credentials(core_, work->build.workspace, index_urls(lock));
  BuildFiles files(core_.store, folder_ / fmt::format("{}.files", work->build.id));
  auto ensure = [&] {
    auto settings = site_.for_lock(lock);
    settings.credentials = credentials;
    settings.fetch_file = [&](const base::Digest& digest, const std::string& name) {
      return files.fetch(digest, name);
    };
    auto log = [&](std::string_view line) { work->log->line(line); };
    const auto way_out = site_.open_way_out(settings, log);
    base::value_or_throw(envs::Cache(settings).ensure(lock, log, work->stop.get_token(), envs::Check::files));
  };
  co_await with_room(work, ensure);
}

Task<void> EnvironmentBuilds::with_room(WorkPtr work, std::function<void()> piece) {
  try {
    co_await threads_.run(core_.home, [&] { piece(); });
    co_return;
  } catch (const Error& error) {
    if (error.code() != Code::no_space) throw;
    work->log->line(fmt::format("{}; environments that nobody uses have to make room", error.text()));
  }
  // A full disk: what can be built again goes first.
  auto room = co_await collect({.unused_for = std::nullopt, .max_bytes = 0}, false, {"server", 0, "full disk"});
  work->log->line(fmt::format("{} environments removed, {}", room.removed.size(), base::human_bytes(room.bytes)));
  co_await threads_.run(core_.home, [&] { piece(); });
}

Task<void> EnvironmentBuilds::store(WorkPtr work, std::string detail) {
  work->build.log_bytes = static_cast<std::int64_t>(work->log->size());
  auto now = core_.clock.utc();
  co_await core_.reserve.insist([&] {
    return core_.database.write([&](db::Connection& connection) {
      db::environment_builds::update(connection, work->build);
      db::events::append_build(connection, work->build.workspace, work->build.id, detail, now);
      if (!work->build.ended) return;
      db::environment_builds::trim(connection, work->build.workspace, work->build.definition, kKeptBuilds);
      audit(connection, {"server", 0, "builds"}, now, "environment.built", fmt::format("build {}", work->build.id),
            detail);
    });
  });
  work->changed.notify();
  core_.events.notify();
}

Task<void> EnvironmentBuilds::finish(WorkPtr work, std::optional<Error> failure) {
  if (failure && failure->code() == Code::cancelled && !work->canceled_by.empty())
    failure = Error(Code::cancelled, fmt::format("the build was given up: {}", work->canceled_by));
  if (failure && failure->code() == Code::no_space && failure->hint().empty())
    failure = Error(Code::no_space, failure->text())
                  .hint(fmt::format("free space in {}, or remove environments: lathe env gc",
                                    site_.cache().folder().string()));
  if (failure) {
    work->log->line(fmt::format("error: {}", failure->text()));
    if (!failure->hint().empty()) work->log->line(fmt::format("hint: {}", failure->hint()));
    work->build.error_json = error_json(*failure);
    base::log::info("a build failed", {{"build", work->build.id}, {"why", failure->text()}});
  } else {
    work->log->line("ready");
  }
  work->build.state = failure ? State::failed : State::ready;
  work->build.ended = core_.clock.utc();
  const bool to_compile = !failure && !compiled_.contains(work->build.lock.value_or(base::Digest{}));
  co_await store_end(work, to_compile);
  if (core_.scope.token().cancelled()) co_return;
  work->over = true;
  work->changed.notify();
  work->log->grown().notify();
  works_.erase(work->build.id);
  if (to_compile) compile_later(*work->build.lock);
}

Task<void> EnvironmentBuilds::store_end(WorkPtr work, bool to_compile) {
  try {
    co_await seal_log(work, to_compile);
    co_await store(work, std::string(db::environment_builds::state_name(work->build.state)));
  } catch (const std::exception& problem) {
    // A later server builds it again, which is quick when this one has come to its end.
    base::log::error("the end of a build could not be stored",
                     {{"build", work->build.id}, {"why", as_error(problem).text()}});
  }
}

Task<void> EnvironmentBuilds::seal_log(WorkPtr work, bool to_compile) {
  try {
    auto blob = co_await core_.reserve.insist([&] {
      return core_.store_work.run([&] {
        if (to_compile) std::ofstream(compile_mark(*work->build.lock)).flush();
        return work->log->seal(core_.store);
      });
    });
    work->build.log = blob.digest;
  } catch (const Error& error) {
    if (error.code() != Code::io && error.code() != Code::corrupt && error.code() != Code::not_found) throw;
    base::log::error("the log of a build could not be kept", {{"build", work->build.id}, {"why", error.text()}});
  }
}

void EnvironmentBuilds::compile_later(base::Digest lock) {
  if (compiled_.insert(lock).second) core_.scope.spawn("compile an environment", compile(lock));
}

// After the environment is usable: a run that starts meanwhile only imports slower.
Task<void> EnvironmentBuilds::compile(base::Digest lock) {
  std::stop_source stop;
  rt::CancelSubscription stopping(core_.scope.token(), [&stop] { stop.request_stop(); });
  auto compiled = co_await threads_.run(
      core_.home, [&] { return site_.cache().compile_bytecode(lock, [](std::string_view) {}, stop.get_token()); });
  if (!compiled && compiled.error().code() == Code::cancelled) co_return;  // the next server does it
  if (!compiled) {
    base::log::warn("an environment was not compiled", {{"lock", lock.hex()}, {"why", compiled.error().text()}});
    compiled_.erase(lock);
  }
  co_await tidy();
  ::unlink(compile_mark(lock).c_str());
}

Task<void> EnvironmentBuilds::tidy() {
  const auto& rules = core_.site.environments;
  envs::CollectPolicy policy;
  if (rules.keep.count() > 0) policy.unused_for = rules.keep;
  if (rules.limit_bytes > 0) policy.max_bytes = rules.limit_bytes;
  try {
    co_await collect(policy, false, {"server", 0, "after a build"});
  } catch (const Error& error) {
    base::log::warn("environments were not collected", {{"why", error.text()}});
  }
}

Task<void> EnvironmentBuilds::import(std::string workspace, Definition definition, envs::Lock lock, Caller caller) {
  co_await keep_lock_blobs(core_, lock);
  auto now = core_.clock.utc();
  auto files = lock_files(lock);
  co_await core_.database.write([&](db::Connection& connection) {
    db::environment_locks::put_definition(connection, definition.digest, definition.text);
    db::environment_locks::put(connection, workspace, definition.digest,
                               {lock.digest, substitutions_json(lock), now, caller.name}, files);
    audit(connection, caller, now, "environment.lock", fmt::format("{}:{}", definition.name, definition.version),
          lock.digest.hex());
  });
}

}  // namespace lathe::server

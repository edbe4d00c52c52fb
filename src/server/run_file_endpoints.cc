// The files and logs of a run.
#include "db/artifacts.h"
#include "db/attempts.h"
#include "db/logs.h"
#include "model/names.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/run_changes.h"
#include "server/run_environment.h"
#include "wire/run.h"

namespace lathe::server {

using base::Code;
using base::Error;
using model::RunRecord;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

// The log that `name` means for this run, or nothing when no node has such a log.
std::optional<LogStream> find_log(const RunRecord& run, int attempt, const std::string& name) {
  for (int node = 0; node < run.spec.node_count; ++node)
    if (wire::main_log_name(run.spec.node_count, node) == name) return LogStream{{run.sequence, attempt, node}, name};
  return std::nullopt;
}

Task<RunRecord> load(Services& services, const Request& request) {
  co_return co_await services.core.database.read([&](db::Connection& connection) {
    return get_run(connection, request.params.at("workspace"), request.params.at("run"));
  });
}

// The build that the run waits for, or waited for, as the database has it.
std::optional<EnvironmentBuilds::Build> find_build(db::Connection& connection, const RunRecord& run) {
  if (!may_be_built(run.spec)) return std::nullopt;
  auto row = db::run_environments::find(connection, run.sequence);
  if (!row || !row->build) return std::nullopt;
  return db::environment_builds::find(connection, run.workspace, *row->build);
}

struct RunAndBuild {
  RunRecord run;
  std::optional<EnvironmentBuilds::Build> build;
};

Task<RunAndBuild> load_with_build(Services& services, const Request& request) {
  auto found = co_await services.core.database.read([&](db::Connection& connection) {
    RunAndBuild both{get_run(connection, request.params.at("workspace"), request.params.at("run")), std::nullopt};
    both.build = find_build(connection, both.run);
    return both;
  });
  if (found.build) found.build = services.builds.current(std::move(*found.build));
  co_return found;
}

// What the first page of a run's files shows beside its artifacts.
struct LogSize {
  LogStream stream;
  std::int64_t sealed = 0;  // bytes in the store
};

std::vector<LogSize> read_logs(db::Connection& connection, const RunRecord& run, const std::string& prefix) {
  std::vector<LogSize> logs;
  for (int node = 0; run.attempt > 0 && node < run.spec.node_count; ++node) {
    LogSize log{{{run.sequence, run.attempt, node}, wire::main_log_name(run.spec.node_count, node)}, 0};
    if (!log.stream.name.starts_with(prefix)) continue;
    auto segments = db::logs::list(connection, run.sequence, run.attempt, log.stream.name);
    if (!segments.empty()) log.sealed = segments.back().offset + segments.back().size;
    logs.push_back(std::move(log));
  }
  return logs;
}

Task<Response> list_files(Services& services, Request& request) {
  allow_query(request, {"prefix", "limit", "cursor"});
  int limit = page_limit(request);
  auto prefix = request.query_value("prefix").value_or(""), cursor = page_cursor(request);
  struct Found {
    RunRecord run;
    db::Page<db::artifacts::Artifact> page;
    std::vector<LogSize> logs;
    std::optional<EnvironmentBuilds::Build> build;
  };
  // In one closure: a file must not be missing because it became an artifact between two looks.
  auto found = co_await services.core.database.read([&](db::Connection& connection) {
    Found all{get_run(connection, request.params.at("workspace"), request.params.at("run")), {}, {}, {}};
    all.page = db::artifacts::list(connection, all.run.sequence, prefix, limit, cursor);
    if (cursor.empty()) all.logs = read_logs(connection, all.run, prefix);
    if (cursor.empty() && all.run.state == model::RunState::preparing && kBuildLog.starts_with(prefix))
      all.build = find_build(connection, all.run);
    return all;
  });
  json::array items;
  // Logs come first, on the first page: there is one per node. One that still grows is known in memory.
  for (const auto& log : found.logs) {
    auto size = static_cast<std::uint64_t>(log.sealed);
    if (services.logs.is_live(found.run.sequence, found.run.attempt)) size = co_await services.logs.size(log.stream);
    items.push_back({{"path", log.stream.name}, {"size", size}, {"kind", "log"}});
  }
  // That of a build is an artifact when it is over.
  if (found.build)
    if (auto build = services.builds.current(std::move(*found.build)); !build.ended)
      items.push_back({{"path", kBuildLog}, {"size", build.log_bytes}, {"kind", "log"}});
  for (const auto& file : found.page.items)
    items.push_back({{"path", file.path},
                     {"size", file.size},
                     {"digest", file.digest.hex()},
                     {"executable", file.executable},
                     {"kind", "artifact"}});
  co_return list_response(std::move(items), found.page.next);
}

Response attachment(const std::string& type) {
  Response response;
  // Never shown by a browser on our origin, whatever it holds.
  response.headers["content-type"] = type;
  response.headers["content-disposition"] = "attachment";
  return response;
}

// As it is now, or on until the build is over. A run whose environment was here has none.
Task<Response> get_build_log(Services& services, Request& request, LiveLogs::Part part, bool follow) {
  EventFeed::RunWatch watch(services.core.events, request.params.at("run"));
  auto found = co_await load_with_build(services, request);
  while (follow && !found.build && found.run.state == model::RunState::preparing) {
    co_await watch.changed(request.cancel);
    found = co_await load_with_build(services, request);
  }
  if (!found.build)
    throw Error(Code::not_found, fmt::format("run '{}' has no log of a build", found.run.id.value))
        .field("name")
        .hint("nothing had to be built for it");
  auto response = attachment("application/octet-stream");
  response.headers["lathe-log-offset"] = fmt::format("{}", part.offset);
  response.may_be_packed = true;
  response.body = net::StreamBody(
      [&services, build = *found.build, part, follow, cancel = request.cancel](net::BodyWriter& out) -> Task<void> {
        co_await services.builds.copy_log(build, part.offset, part.length, follow, cancel, out);
      });
  co_return response;
}

Task<Response> get_content(Services& services, Request& request) {
  allow_query(request, {"path"});
  auto path = require_query(request, "path");
  auto run = co_await load(services, request);
  auto& core = services.core;
  auto response = attachment("application/octet-stream");
  auto artifact = co_await core.database.read(
      [&](db::Connection& connection) { return db::artifacts::find(connection, run.sequence, path); });
  if (artifact) {
    auto blob = co_await core.store_work.open_blob(artifact->digest);
    auto range = requested_range(request, blob.size());
    describe_range(response, range, blob.size());
    response.headers["etag"] = "\"" + artifact->digest.hex() + "\"";
    response.body = net::FileBody{blob.release(), range.offset, range.length};
    co_return response;
  }
  if (path == kBuildLog) co_return co_await get_build_log(services, request, {}, false);
  auto log = run.attempt > 0 ? find_log(run, run.attempt, path) : std::nullopt;
  if (!log)
    throw Error(Code::not_found, fmt::format("run '{}' has no file '{}'", run.id.value, path))
        .field("path")
        .hint("lathe run files shows its files");
  auto size = co_await services.logs.size(*log);
  auto range = requested_range(request, size);
  describe_range(response, range, size);
  response.may_be_packed = true;
  response.body =
      net::StreamBody([&services, log = *log, range, cancel = request.cancel](net::BodyWriter& out) -> Task<void> {
        co_await services.logs.copy(log, {range.offset, range.length}, false, cancel, out);
      });
  co_return response;
}

// Waits until the run has an attempt to follow, or is over without one.
Task<RunRecord> wait_for_attempt(Services& services, Request& request, RunRecord run) {
  EventFeed::RunWatch watch(services.core.events, run.id.value);
  while (services.dispatcher.is_waiting(run)) co_await watch.changed(request.cancel);
  co_return co_await load(services, request);
}

Task<Response> get_log(Services& services, Request& request) {
  allow_query(request, {"name", "offset", "follow", "attempt"});
  auto run = co_await load(services, request);
  auto name = request.query_value("name").value_or(wire::main_log_name(run.spec.node_count));
  auto offset = static_cast<std::uint64_t>(query_integer(request, "offset", 0));
  bool follow = query_flag(request, "follow", false);
  auto attempt = query_integer(request, "attempt", 0);
  if (request.query_value("attempt")) base::value_or_throw(model::check_range("attempt", attempt, 1, INT32_MAX));
  if (name == kBuildLog) co_return co_await get_build_log(services, request, {offset}, follow);
  if (!find_log(run, 1, name))
    throw Error(Code::not_found, fmt::format("run '{}' has no log '{}'", run.id.value, name)).field("name");
  if (follow) run = co_await wait_for_attempt(services, request, std::move(run));
  int number = attempt > 0 ? static_cast<int>(attempt) : run.attempt;
  if (number > run.attempt)
    throw Error(Code::not_found, fmt::format("run '{}' has no attempt {}", run.id.value, number)).field("attempt");
  auto response = attachment("application/octet-stream");
  response.headers["lathe-log-offset"] = fmt::format("{}", offset);
  response.headers["lathe-log-attempt"] = fmt::format("{}", number);
  if (number == 0) co_return response;
  response.may_be_packed = true;
  response.body = net::StreamBody([&services, stream = *find_log(run, number, name), offset, follow,
                                   cancel = request.cancel](net::BodyWriter& out) -> Task<void> {
    co_await services.logs.copy(stream, {offset}, follow, cancel, out);
  });
  co_return response;
}

}  // namespace

void add_run_file_routes(net::Router& router, Services& services) {
  const std::string one = "/api/v1/workspaces/{workspace}/runs/{run}";
  router.add({"GET", one + "/files", "listRunFiles", Permission::read, endpoint(services, list_files)});
  router.add({"GET", one + "/files/content", "getRunFile", Permission::read, endpoint(services, get_content)});
  router.add({"GET", one + "/logs", "getRunLog", Permission::read, endpoint(services, get_log)});
}

}  // namespace lathe::server

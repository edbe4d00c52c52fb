// What the client of a run does to it from outside: ends an interactive run, adds properties, names files.
#include "db/artifacts.h"
#include "db/events.h"
#include "model/names.h"
#include "server/artifact_intake.h"
#include "server/http_tools.h"
#include "server/run_changes.h"
#include "server/run_edits.h"
#include "wire/json.h"

namespace lathe::server {

using base::Code;
using base::Error;
using model::RunRecord;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;

namespace {

constexpr std::size_t kMaxErrorText = 64 * 1024;
constexpr std::string_view kDefaultErrorCode = "UserError";

Task<Response> end_interactive(Services& services, Request& request, std::optional<model::RunError> error) {
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  auto outcome = co_await core.reserve.spend([&] {
    return core.database.write([&](db::Connection& connection) {
      return end_interactive_run(connection, get_own_run(connection, request), error, caller, now);
    });
  });
  if (outcome.changed) core.events.notify(outcome.run.id.value);
  co_return co_await show_run(services, std::move(outcome.run), 200);
}

Task<Response> complete(Services& services, Request& request) {
  allow_query(request, {});
  auto body = co_await json_body(request, true);
  wire::Fields fields(body);
  base::value_or_throw(fields.finish());
  co_return co_await end_interactive(services, request, std::nullopt);
}

Task<Response> fail(Services& services, Request& request) {
  allow_query(request, {});
  auto body = co_await json_body(request, true);
  model::RunError error{.code = std::string(kDefaultErrorCode), .message = "failed by its client"};
  wire::Fields fields(body);
  fields.text("error_code", error.code).text("message", error.message).text("details", error.details);
  base::value_or_throw(fields.finish());
  base::value_or_throw(model::check_label("error_code", error.code));
  for (auto [name, text] : {std::pair{"message", &error.message}, {"details", &error.details}})
    if (text->size() > kMaxErrorText)
      throw Error(Code::too_large,
                  fmt::format("{} has {} bytes; at most {} are allowed", name, text->size(), kMaxErrorText))
          .field(name)
          .hint("put long texts into a file of the run");
  co_return co_await end_interactive(services, request, std::move(error));
}

void add_properties(RunRecord& run, const std::map<std::string, std::string>& added) {
  for (const auto& [key, value] : added) {
    auto [there, is_new] = run.spec.properties.emplace(key, value);
    if (!is_new && there->second != value)
      throw Error(Code::conflict, fmt::format("the property '{}' is set to another value", key))
          .field(key)
          .hint("properties cannot be changed; use a tag for what changes");
  }
  base::value_or_throw(model::check_properties(run.spec.properties));
}

Task<Response> patch_properties(Services& services, Request& request) {
  allow_query(request, {});
  auto body = co_await json_body(request);
  std::map<std::string, std::string> added;
  wire::Fields fields(body);
  fields.need("set").text_map("set", added);
  base::value_or_throw(fields.finish());
  co_return co_await edit_run(services, request,
                              {"properties", "run.properties", fmt::format("{} properties", added.size())},
                              [&](RunRecord& run) { add_properties(run, added); });
}

Task<Response> put_artifacts(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  auto files = read_artifacts(co_await json_body(request), "artifacts");
  co_await core.database.read([&](db::Connection& connection) { get_own_run(connection, request); });
  core.reserve.require_room();
  std::vector<base::Digest> digests;
  for (const auto& file : files) digests.push_back(file.digest);
  co_await services.rights.require_nameable(request.principal, std::move(digests), "artifacts");
  co_await require_blobs(core, files, "artifacts");
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_await core.database.write([&](db::Connection& connection) {
    auto run = get_own_run(connection, request);
    for (auto& file : files) {
      file.attempt = run.attempt;
      file.updated = now;
    }
    db::artifacts::upsert(connection, run.sequence, files);
    auto detail = fmt::format("{} files", files.size());
    db::events::append_change(connection, run, "artifacts", detail, now);
    audit(connection, caller, now, "run.artifacts", run.id.value, detail);
  });
  core.events.notify(request.params.at("run"));
  co_return Response::empty(204);
}

}  // namespace

void add_client_run_routes(net::Router& router, Services& services) {
  const std::string one = "/api/v1/workspaces/{workspace}/runs/{run}";
  const auto permission = Permission::write_or_own_run;
  router.add({"POST", one + "/complete", "completeRun", permission, endpoint(services, complete)});
  router.add({"POST", one + "/fail", "failRun", permission, endpoint(services, fail)});
  router.add({"PATCH", one + "/properties", "patchRunProperties", permission, endpoint(services, patch_properties)});
  router.add({"POST", one + "/artifacts", "putRunArtifacts", permission, endpoint(services, put_artifacts)});
}

}  // namespace lathe::server

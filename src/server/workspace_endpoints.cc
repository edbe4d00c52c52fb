// Workspaces, experiments, and what the server says of itself.
#include "base/strings.h"
#include "db/computes.h"
#include "db/experiments.h"
#include "db/workspaces.h"
#include "model/names.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "wire/json.h"

namespace lathe::server {

using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

json::object workspace_json(const db::workspaces::Workspace& workspace) {
  return {{"name", workspace.name},
          {"subscription_id", workspace.subscription_id},
          {"resource_group", workspace.resource_group},
          {"created", base::format_utc(workspace.created)}};
}

json::object experiment_json(const db::experiments::Experiment& experiment) {
  json::object out{{"name", experiment.name},
                   {"created", base::format_utc(experiment.created)},
                   {"run_count", experiment.run_count},
                   {"last_run", nullptr}};
  if (experiment.last_run) out["last_run"] = experiment.last_run->value;
  return out;
}

Task<Response> put_workspace(Services& services, Request& request) {
  db::workspaces::Workspace workspace;
  workspace.name = request.params.at("workspace");
  base::value_or_throw(model::check_workspace_name(workspace.name));
  auto body = co_await json_body(request, true);
  wire::Fields fields(body);
  fields.text("subscription_id", workspace.subscription_id).text("resource_group", workspace.resource_group);
  base::value_or_throw(fields.finish());
  // Scripts join these to strings, so they are never empty.
  if (workspace.subscription_id.empty()) workspace.subscription_id = "00000000-0000-0000-0000-000000000000";
  if (workspace.resource_group.empty()) workspace.resource_group = "lathe";
  for (auto [field, value] :
       {std::pair{"subscription_id", &workspace.subscription_id}, {"resource_group", &workspace.resource_group}})
    base::value_or_throw(model::check_tag(field, field, *value));
  workspace.created = services.core.clock.utc();
  auto caller = caller_of(request);
  auto [stored, created] = co_await services.core.database.write([&](db::Connection& connection) {
    bool is_new = db::workspaces::insert_if_absent(connection, workspace);
    if (is_new) {
      db::computes::insert_or_update(connection, local_target(workspace.name, workspace.created));
      audit(connection, caller, workspace.created, "workspace.create", workspace.name);
    }
    return std::pair(db::workspaces::get(connection, workspace.name), is_new);
  });
  if (created) services.dispatcher.compute_changed(local_target(stored.name, stored.created));
  co_return json_response(workspace_json(stored), created ? 201 : 200);
}

Task<Response> get_server(Services& services, Request& request) {
  allow_query(request, {});
  const auto& machine = services.core.provider.capacity();
  json::array gpus(machine.gpus.begin(), machine.gpus.end());
  co_return json_response({{"version", LATHE_VERSION},
                           {"started", base::format_utc(services.started)},
                           {"boxes", services.core.site.why_no_box.empty()},
                           {"why_no_boxes", services.core.site.why_no_box},
                           {"machine",
                            {{"cores", static_cast<double>(machine.millicores) / 1000},
                             {"memory_bytes", machine.memory_bytes},
                             {"gpus", gpus}}}});
}

}  // namespace

void add_workspace_routes(net::Router& router, Services& services) {
  auto& database = services.core.database;
  router.add({"GET", "/healthz", "getHealth", Permission::open, [](Request&) -> Task<Response> {
                co_return json_response({{"status", "ok"}, {"version", LATHE_VERSION}});
              }});
  router.add({"GET", "/metrics", "getMetrics", Permission::read, [&services](Request&) -> Task<Response> {
                Response response;
                response.headers["content-type"] = "text/plain; version=0.0.4; charset=utf-8";
                response.body = services.render_metrics();
                co_return response;
              }});
  router.add({"GET", "/api/v1/server", "getServer", Permission::read, endpoint(services, get_server)});
  router.add({"GET", "/api/v1/workspaces", "listWorkspaces", Permission::read, [&](Request& request) -> Task<Response> {
                allow_query(request, {"limit", "cursor"});
                const auto after = page_after(request, "workspaces");
                const auto limit = page_limit(request);
                auto rows = co_await database.read([&](db::Connection& connection) {
                  const auto& own = request.principal.workspace;
                  if (own.empty()) return db::workspaces::list_after(connection, after, limit + 1);
                  std::vector<db::workspaces::Workspace> one;
                  if (auto found = db::workspaces::find(connection, own); found && own > after) one.push_back(*found);
                  return one;
                });
                co_return page_of_names(request, "workspaces", std::move(rows), workspace_json);
              }});
  router.add(
      {"PUT", "/api/v1/workspaces/{workspace}", "putWorkspace", Permission::write, endpoint(services, put_workspace)});
  router.add({"GET", "/api/v1/workspaces/{workspace}", "getWorkspace", Permission::read,
              [&](Request& request) -> Task<Response> {
                allow_query(request, {});
                auto row = co_await database.read([&](db::Connection& connection) {
                  return db::workspaces::get(connection, request.params.at("workspace"));
                });
                co_return json_response(workspace_json(row));
              }});
  router.add({"GET", "/api/v1/workspaces/{workspace}/experiments", "listExperiments", Permission::read,
              [&](Request& request) -> Task<Response> {
                allow_query(request, {"limit", "cursor"});
                int limit = page_limit(request);
                auto page = co_await database.read([&](db::Connection& connection) {
                  const auto& workspace = request.params.at("workspace");
                  db::workspaces::get(connection, workspace);
                  return db::experiments::list(connection, workspace, limit, page_cursor(request));
                });
                json::array items;
                for (const auto& row : page.items) items.push_back(experiment_json(row));
                co_return list_response(std::move(items), page.next);
              }});
  router.add({"GET", "/api/v1/workspaces/{workspace}/experiments/{experiment}", "getExperiment", Permission::read,
              [&](Request& request) -> Task<Response> {
                allow_query(request, {});
                auto row = co_await database.read([&](db::Connection& connection) {
                  return db::experiments::get(connection, request.params.at("workspace"),
                                              request.params.at("experiment"));
                });
                co_return json_response(experiment_json(row));
              }});
}

}  // namespace lathe::server

// Compute targets: make, change, show, remove.
#include "db/computes.h"
#include "db/runs.h"
#include "db/workspaces.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "wire/compute.h"

namespace lathe::server {

using base::Code;
using base::Error;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

json::object show(Services& services, const model::ComputeTarget& target) {
  model::FittedSize fitted;
  if (auto result = services.dispatcher.fit(target))
    fitted = std::move(*result);
  else
    fitted.notes = {result.error().text()};
  auto counts = services.dispatcher.counts(target);
  std::vector<wire::HeldNode> held;
  for (const auto* slice : services.dispatcher.held(target)) held.push_back({slice->slice.node_name, slice->run.value});
  return wire::compute_json({target,
                             fitted,
                             {counts.idle, counts.busy, counts.leaving, counts.up, counts.target},
                             counts.queue,
                             std::move(held)});
}

Task<Response> put_compute(Services& services, Request& request) {
  auto& core = services.core;
  const auto& workspace = request.params.at("workspace");
  auto target =
      base::value_or_throw(wire::parse_compute(co_await json_text(request), workspace, request.params.at("compute")));
  base::value_or_throw(services.dispatcher.fit(target));
  target.created = core.clock.utc();
  auto caller = caller_of(request);
  auto [stored, created] = co_await core.database.write([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    bool is_new = db::computes::insert_or_update(connection, target);
    audit(connection, caller, target.created, is_new ? "compute.create" : "compute.update", target.name,
          target.vm_size);
    return std::pair(db::computes::get(connection, workspace, target.name), is_new);
  });
  services.dispatcher.compute_changed(stored);
  co_return json_response(show(services, stored), created ? 201 : 200);
}

Task<Response> get_compute(Services& services, Request& request) {
  allow_query(request, {});
  auto target = co_await services.core.database.read([&](db::Connection& connection) {
    return db::computes::get(connection, request.params.at("workspace"), request.params.at("compute"));
  });
  co_return json_response(show(services, target));
}

Task<Response> list_computes(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  const auto after = page_after(request, "computes");
  const auto limit = page_limit(request);
  auto targets = co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, request.params.at("workspace"));
    return db::computes::list_after(connection, request.params.at("workspace"), after, limit + 1);
  });
  co_return page_of_names(request, "computes", std::move(targets),
                          [&](const auto& target) { return show(services, target); });
}

Task<Response> delete_compute(Services& services, Request& request) {
  const auto &workspace = request.params.at("workspace"), &name = request.params.at("compute");
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_await core.database.write([&](db::Connection& connection) {
    db::computes::get(connection, workspace, name);
    if (db::runs::is_compute_in_use(connection, workspace, name))
      throw Error(Code::conflict, fmt::format("runs wait for or use the compute target '{}'", name))
          .field("compute")
          .hint("cancel them first, or wait");
    db::computes::remove(connection, workspace, name);
    audit(connection, caller, now, "compute.delete", name);
  });
  services.dispatcher.compute_removed(workspace, name);
  co_return Response::empty(204);
}

}  // namespace

model::ComputeTarget local_target(const std::string& workspace, base::UtcTime created) {
  model::ComputeTarget target;
  target.workspace = workspace;
  target.name = "local";
  target.created = created;
  return target;
}

void add_compute_routes(net::Router& router, Services& services) {
  const std::string computes = "/api/v1/workspaces/{workspace}/computes", one = computes + "/{compute}";
  router.add({"GET", computes, "listComputes", Permission::read, endpoint(services, list_computes)});
  router.add({"PUT", one, "putCompute", Permission::operate, endpoint(services, put_compute)});
  router.add({"GET", one, "getCompute", Permission::read, endpoint(services, get_compute)});
  router.add({"DELETE", one, "deleteCompute", Permission::operate, endpoint(services, delete_compute)});
}

}  // namespace lathe::server

// Environments: registered definitions, and the curated ones.
#include "base/strings.h"
#include "db/environments.h"
#include "db/workspaces.h"
#include "model/names.h"
#include "server/curated_environments.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/registry_tools.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::environments::Environment;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

json::object show(const Environment& environment) {
  return {{"name", environment.name},
          {"version", environment.version},
          {"latest", environment.latest},
          {"curated", false},
          {"definition", stored_json(environment.definition_json)},
          {"created", base::format_utc(environment.created)},
          {"created_by", environment.created_by}};
}

// A curated environment is one definition, and scripts ask for the version that it had on the day they were written:
// it answers to any.
json::object show_curated(const std::string& name, const json::object& definition, std::int64_t version) {
  return {{"name", name},
          {"version", std::max<std::int64_t>(version, 1)},
          {"latest", true},
          {"curated", true},
          {"definition", definition},
          {"created", nullptr},
          {"created_by", nullptr}};
}

Task<Response> list_environments(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  const auto& workspace = request.params.at("workspace");
  const auto scope = "environments\n" + workspace, after = page_after(request, scope);
  const auto limit = page_limit(request);
  auto registered = co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    return db::environments::list_latest_after(connection, workspace, after, limit + 1);
  });
  struct Listed {
    std::string name;
    json::object view;
  };
  std::vector<Listed> all;
  for (const auto& environment : registered) all.push_back({environment.name, show(environment)});
  for (const auto& [name, definition] : curated_environments())
    if (name > after && std::ranges::find(all, name, &Listed::name) == all.end())
      all.push_back({name, show_curated(name, definition, 1)});
  std::ranges::sort(all, {}, &Listed::name);
  co_return page_of_names(request, scope, std::move(all), [](const Listed& listed) { return listed.view; });
}

Task<Response> get_environment(Services& services, Request& request) {
  allow_query(request, {"version"});
  auto number = parse_version(request.query_value("version").value_or("latest"));
  const auto &workspace = request.params.at("workspace"), &name = request.params.at("environment");
  auto found = co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    return db::environments::find(connection, workspace, name, number);
  });
  if (found) co_return json_response(show(*found));
  const auto& catalogue = curated_environments();
  auto curated = catalogue.find(name);
  if (curated != catalogue.end()) co_return json_response(show_curated(name, curated->second, number));
  throw Error(Code::not_found, number > 0 ? fmt::format("the environment '{}' has no version {}", name, number)
                                          : fmt::format("there is no environment '{}'", base::printable(name)))
      .field(number > 0 ? "version" : "environment")
      .hint("Environment.list(workspace) shows those that are here, curated ones among them");
}

Task<Response> put_environment(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  auto body = co_await json_body(request);
  Environment environment;
  environment.workspace = request.params.at("workspace");
  environment.name = request.params.at("environment");
  wire::Fields fields(body);
  fields.need("definition");
  auto definition = free_object(fields, body, "definition");
  check(fields.finish());
  check(model::check_registry_name("environment", environment.name));
  if (is_reserved_environment(environment.name))
    throw Error(Code::forbidden, "names that begin with AzureML or Microsoft are reserved for curated environments")
        .field("environment")
        .hint("clone it under a name of your own: env.clone('my-environment')");
  environment.definition_json = json::serialize(definition);
  environment.digest = base::sha256(canonical_json(definition));
  environment.created = core.clock.utc();
  environment.created_by = request.principal.name;
  auto caller = caller_of(request);
  bool is_new = false;
  auto stored = co_await core.database.write([&](db::Connection& connection) {
    db::workspaces::get(connection, environment.workspace);
    auto newest = db::environments::find(connection, environment.workspace, environment.name);
    if (newest && newest->digest == environment.digest) return *newest;
    is_new = true;
    auto made = db::environments::insert(connection, environment);
    audit(connection, caller, environment.created, "environment.register",
          fmt::format("{}:{}", made.name, made.version), made.digest.hex());
    return made;
  });
  co_return json_response(show(stored), is_new ? 201 : 200);
}

}  // namespace

void add_environment_routes(net::Router& router, Services& services) {
  const std::string all = "/api/v1/workspaces/{workspace}/environments", one = all + "/{environment}";
  router.add({"GET", all, "listEnvironments", Permission::read, endpoint(services, list_environments)});
  router.add({"GET", one, "getEnvironment", Permission::read, endpoint(services, get_environment)});
  router.add({"PUT", one, "putEnvironment", Permission::write, endpoint(services, put_environment)});
}

}  // namespace lathe::server

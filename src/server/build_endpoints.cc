// Builds of environments, and their logs.
#include "base/strings.h"
#include "db/workspaces.h"
#include "server/endpoints.h"
#include "server/environment_builds.h"
#include "server/http_tools.h"
#include "server/registry_tools.h"

namespace lathe::server {

using base::Code;
using base::Error;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;
using Build = EnvironmentBuilds::Build;

namespace {

Task<Build> find_build(Services& services, const Request& request) {
  const auto& text = request.params.at("build");
  auto id = base::parse_u64(text);
  if (!id || *id == 0 || *id > INT64_MAX) throw Error(Code::invalid, "a build is named by its number").field("build");
  auto found = co_await services.core.database.read([&](db::Connection& connection) {
    return db::environment_builds::find(connection, request.params.at("workspace"), static_cast<std::int64_t>(*id));
  });
  if (!found)
    throw Error(Code::not_found, fmt::format("there is no build {} in this workspace", *id))
        .field("build")
        .hint("lathe env builds shows them");
  co_return services.builds.current(std::move(*found));
}

// Also for one that is here: whoever asks wants to know that it is whole.
Task<Response> ask_for(Services& services, Request& request, EnvironmentBuilds::Wish wish) {
  auto spec = read_new_definition(services.core.site, wish.definition);
  if (spec.user_managed && !spec.image.wanted())
    throw Error(Code::invalid, "there is nothing to build: its user manages the interpreter")
        .field("definition.python.userManagedDependencies");
  auto build = co_await services.builds.start(std::move(wish), caller_of(request));
  co_return json_response(build_json(services.builds.current(std::move(build))), 202);
}

Task<Response> build_environment(Services& services, Request& request) {
  allow_query(request, {});
  auto body = co_await json_body(request, true);
  std::string version = "latest";
  EnvironmentBuilds::Wish wish;
  wire::Fields fields(body);
  fields.text("version", version).boolean("refresh", wish.refresh);
  check(fields.finish());
  auto number = parse_version(version);
  wish.workspace = request.params.at("workspace");
  wish.definition = co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, wish.workspace);
    return find_definition(connection, wish.workspace, request.params.at("environment"), number);
  });
  co_return co_await ask_for(services, request, std::move(wish));
}

Task<Response> build_definition(Services& services, Request& request) {
  allow_query(request, {});
  auto body = co_await json_body(request);
  EnvironmentBuilds::Wish wish;
  wire::Fields fields(body);
  fields.need("definition").boolean("refresh", wish.refresh);
  auto definition = free_object(fields, body, "definition");
  check(fields.finish());
  wish.workspace = request.params.at("workspace");
  wish.definition = make_definition(definition);
  co_await services.core.database.read(
      [&](db::Connection& connection) { return db::workspaces::get(connection, wish.workspace); });
  co_return co_await ask_for(services, request, std::move(wish));
}

Task<Response> list_builds(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  const auto& workspace = request.params.at("workspace");
  auto limit = page_limit(request);
  auto cursor = page_cursor(request);
  auto page = co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    return db::environment_builds::list(connection, workspace, limit, cursor);
  });
  json::array items;
  for (auto& build : page.items) items.push_back(build_json(services.builds.current(std::move(build))));
  co_return list_response(std::move(items), page.next);
}

Task<Response> get_build(Services& services, Request& request) {
  allow_query(request, {});
  co_return json_response(build_json(co_await find_build(services, request)));
}

Task<Response> cancel_build(Services& services, Request& request) {
  allow_query(request, {});
  auto build = co_await find_build(services, request);
  auto caller = caller_of(request);
  auto now = services.core.clock.utc();
  if (!build.ended) {
    services.builds.cancel(build.id, "canceled by " + caller.name);
    co_await services.core.reserve.spend([&] {
      return services.core.database.write([&](db::Connection& connection) {
        audit(connection, caller, now, "environment.cancel", fmt::format("build {}", build.id));
      });
    });
  }
  co_return json_response(build_json(services.builds.current(std::move(build))));
}

Task<Response> get_log(Services& services, Request& request) {
  allow_query(request, {"offset", "follow"});
  auto offset = static_cast<std::uint64_t>(query_integer(request, "offset", 0));
  bool follow = query_flag(request, "follow", false);
  auto build = co_await find_build(services, request);
  Response response;
  response.headers["content-type"] = "application/octet-stream";
  response.headers["content-disposition"] = "attachment";
  response.headers["lathe-log-offset"] = fmt::format("{}", offset);
  response.may_be_packed = true;
  response.body =
      net::StreamBody([&services, build, offset, follow, cancel = request.cancel](net::BodyWriter& out) -> Task<void> {
        co_await services.builds.copy_log(build, offset, UINT64_MAX, follow, cancel, out);
      });
  co_return response;
}

}  // namespace

void add_build_routes(net::Router& router, Services& services) {
  const std::string workspace = "/api/v1/workspaces/{workspace}", all = workspace + "/environment-builds",
                    one = all + "/{build}";
  router.add({"POST", workspace + "/environments/{environment}/builds", "buildEnvironment", Permission::write,
              endpoint(services, build_environment)});
  router.add({"GET", all, "listEnvironmentBuilds", Permission::read, endpoint(services, list_builds)});
  router.add({"POST", all, "buildDefinition", Permission::write, endpoint(services, build_definition)});
  router.add({"GET", one, "getEnvironmentBuild", Permission::read, endpoint(services, get_build)});
  router.add({"POST", one + "/cancel", "cancelEnvironmentBuild", Permission::write, endpoint(services, cancel_build)});
  router.add({"GET", one + "/log", "getEnvironmentBuildLog", Permission::read, endpoint(services, get_log)});
}

}  // namespace lathe::server

// Locks of environments, what they mean, and the folder of environments that are on this machine.
#include <cmath>

#include "db/environment_locks.h"
#include "db/workspaces.h"
#include "server/endpoints.h"
#include "server/environment_builds.h"
#include "server/environment_files.h"
#include "server/environment_site.h"
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

namespace {

constexpr double kSecondsOfADay = 86400;
constexpr double kMostDays = 36500, kMostGigabytes = 1e6;

struct Found {
  Definition definition;
  std::optional<db::environment_locks::Locked> locked;
};

Task<Found> find_environment(Services& services, const Request& request) {
  auto number = parse_version(request.query_value("version").value_or("latest"));
  const auto& workspace = request.params.at("workspace");
  co_return co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    auto definition = find_definition(connection, workspace, request.params.at("environment"), number);
    auto locked = db::environment_locks::find(connection, workspace, definition.digest);
    return Found{std::move(definition), std::move(locked)};
  });
}

Task<Response> explain(Services& services, Request& request) {
  allow_query(request, {"version"});
  auto found = co_await find_environment(services, request);
  json::object out{
      {"name", found.definition.name},
      {"version", found.definition.version},
      {"definition", found.definition.digest.hex()},
      {"lock", nullptr},
      {"locked", nullptr},
      {"ready", false},
      {"substitutions", json::array()},
      {"text", "It is not locked yet; lathe env build does it, and so does the first run that uses it.\n"}};
  if (found.locked) {
    auto lock = co_await services.builds.read_lock(found.locked->lock);
    auto ready = co_await services.builds.find_ready(request.params.at("workspace"), found.definition.digest);
    out["lock"] = lock.digest.hex();
    out["locked"] = base::format_utc(found.locked->locked);
    out["ready"] = ready.has_value();
    out["substitutions"] = stored_json(found.locked->substitutions_json);
    out["text"] = envs::explain(lock);
  }
  co_return json_response(out);
}

Response lock_response(const envs::Lock& lock) {
  auto response = Response::json(lock.text);
  response.headers["etag"] = "\"" + lock.digest.hex() + "\"";
  return response;
}

Task<Response> get_environment_lock(Services& services, Request& request) {
  allow_query(request, {"version"});
  auto found = co_await find_environment(services, request);
  if (!found.locked)
    throw Error(Code::not_found, fmt::format("'{}' is not locked yet", found.definition.name))
        .field("environment")
        .hint(fmt::format("lathe env build {}", found.definition.name));
  co_return lock_response(co_await services.builds.read_lock(found.locked->lock));
}

Task<Response> put_environment_lock(Services& services, Request& request) {
  allow_query(request, {"version"});
  auto text = co_await json_text(request);
  auto found = co_await find_environment(services, request);
  services.core.reserve.require_room();
  auto lock = co_await services.core.files.run(services.core.home, [&] {
    return services.environments.with_known_sdk(base::value_or_throw(envs::parse_lock(text)));
  });
  auto files = lock_files(lock);
  std::erase(files, base::sha256(EnvironmentSite::sdk_bytes()));  // everybody's
  co_await services.rights.require_nameable(request.principal, std::move(files), "packages");
  json::object answer{{"name", found.definition.name},
                      {"version", found.definition.version},
                      {"definition", found.definition.digest.hex()},
                      {"lock", lock.digest.hex()}};
  co_await services.builds.import(request.params.at("workspace"), std::move(found.definition), std::move(lock),
                                  caller_of(request));
  co_return json_response(answer);
}

Task<Response> get_lock(Services& services, Request& request) {
  allow_query(request, {});
  auto digest = base::Digest::parse(request.params.at("digest"));
  if (!digest) throw Error(Code::invalid, "a lock is named by 64 hex digits").field("digest");
  // Other blobs are not for everybody who may read locks.
  co_await services.rights.require_lock(request, *digest);
  bool is_lock = co_await services.core.database.read(
      [&](db::Connection& connection) { return db::environment_locks::is_lock(connection, *digest); });
  if (!is_lock) throw Error(Code::not_found, fmt::format("there is no lock {}", digest->hex())).field("digest");
  co_return lock_response(co_await services.builds.read_lock(*digest));
}

Task<Response> get_cache(Services& services, Request& request) {
  allow_query(request, {});
  auto& cache = services.environments.cache();
  auto entries = co_await services.core.store_work.run([&] { return cache.list(); });
  json::array items;
  std::uint64_t bytes = 0;
  for (const auto& entry : entries) {
    bytes += entry.bytes;
    items.push_back({{"lock", entry.lock.hex()},
                     {"bytes", entry.bytes},
                     {"last_used", base::format_utc(entry.last_used)},
                     {"in_use", entry.in_use}});
  }
  co_return json_response({{"folder", cache.folder().string()}, {"bytes", bytes}, {"items", std::move(items)}});
}

Task<Response> collect(Services& services, Request& request) {
  allow_query(request, {});
  auto body = co_await json_body(request, true);
  bool dry_run = false;
  double days = static_cast<double>(services.core.site.environments.keep.count()) / kSecondsOfADay;
  double gigabytes = std::nan("");  // not said
  wire::Fields fields(body);
  fields.boolean("dry_run", dry_run).number("unused_days", days).number("limit_gb", gigabytes);
  check(fields.finish());
  if (!(days >= 0 && days <= kMostDays))
    throw Error(Code::invalid, "unused_days is from 0 to 36500").field("unused_days");
  if (!std::isnan(gigabytes) && !(gigabytes >= 0 && gigabytes <= kMostGigabytes))
    throw Error(Code::invalid, "limit_gb is from 0 to 1000000").field("limit_gb");
  envs::CollectPolicy policy;
  policy.unused_for = std::chrono::seconds(static_cast<std::int64_t>(days * kSecondsOfADay));
  if (gigabytes >= 0) policy.max_bytes = static_cast<std::uint64_t>(gigabytes * (1 << 30));
  auto collected = co_await services.builds.collect(policy, dry_run, caller_of(request));
  json::array removed;
  for (const auto& entry : collected.removed) removed.push_back(json::string(entry.lock.hex()));
  co_return json_response({{"dry_run", dry_run},
                           {"removed", std::move(removed)},
                           {"removed_bytes", collected.bytes},
                           {"kept_bytes", collected.kept_bytes}});
}

}  // namespace

void add_lock_routes(net::Router& router, Services& services) {
  const std::string one = "/api/v1/workspaces/{workspace}/environments/{environment}",
                    cache = "/api/v1/environment-cache";
  router.add({"GET", one + "/explain", "explainEnvironment", Permission::read, endpoint(services, explain)});
  router.add({"GET", one + "/lock", "getEnvironmentLock", Permission::read, endpoint(services, get_environment_lock)});
  router.add({"PUT", one + "/lock", "putEnvironmentLock", Permission::write, endpoint(services, put_environment_lock)});
  router.add({"GET", "/api/v1/environment-locks/{digest}", "getLock", Permission::read_or_runner,
              endpoint(services, get_lock)});
  router.add({"GET", cache, "getEnvironmentCache", Permission::read, endpoint(services, get_cache)});
  router.add({"POST", cache + "/gc", "collectEnvironments", Permission::operate, endpoint(services, collect)});
}

}  // namespace lathe::server

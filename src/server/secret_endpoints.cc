// The secrets of a workspace. Values are encrypted before they reach the database, and appear nowhere else: not in
// messages, logs or audit rows.
#include "base/seal.h"
#include "base/strings.h"
#include "db/secrets.h"
#include "db/workspaces.h"
#include "model/names.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/secret_keys.h"

namespace lathe::server {

using base::Code;
using base::Error;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

constexpr std::size_t kMaxValue = 64 * 1024;

Error no_such_secret(const std::string& name) {
  return Error(Code::not_found, fmt::format("there is no secret '{}'", base::printable(name, 127))).field("secret");
}

std::string secret_name(const Request& request) {
  auto name = request.params.at("secret");
  base::value_or_throw(model::check_secret_name(name));
  return name;
}

// By hand: the usual messages show what is wrong with a field, and this field nobody may see.
std::string take_value(const json::value& body) {
  const auto* object = body.if_object();
  const auto* value = object ? object->if_contains("value") : nullptr;
  if (!value || !value->is_string() || object->size() != 1)
    throw Error(Code::invalid, "the body must be an object with the one field value, a string").field("value");
  if (value->get_string().size() > kMaxValue)
    throw Error(Code::too_large, fmt::format("a secret has at most {} bytes", kMaxValue)).field("value");
  return std::string(value->get_string());
}

Task<Response> put(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  const auto& workspace = request.params.at("workspace");
  auto name = secret_name(request);
  auto value = take_value(co_await json_body(request));
  core.reserve.require_room();
  auto now = core.clock.utc();
  co_await core.database.read([&](db::Connection& connection) { db::workspaces::get(connection, workspace); });
  auto caller = caller_of(request);
  SealedSecret sealed;
  // Again when the keys were rotated meanwhile: nothing acknowledged is left with a key before.
  for (int tries = 0; tries < 2 && (tries == 0 || !services.rotation.is_current(sealed.key_id)); ++tries) {
    sealed = co_await core.files.run(
        core.home, [&] { return seal_secret(SecretKeys(core.site.key_folder), workspace, name, value, now); });
    co_await core.database.write([&](db::Connection& connection) {
      db::workspaces::get(connection, workspace);
      db::secrets::upsert(connection, workspace, {name, sealed.key_id, sealed.wrapped_key, sealed.sealed, now, now});
      audit(connection, caller, now, "secret.set", name, workspace);
    });
  }
  base::wipe(value);
  co_return Response::empty(204);
}

Task<Response> get(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  const auto& workspace = request.params.at("workspace");
  auto name = secret_name(request);
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  auto row = co_await core.database.write([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    auto found = db::secrets::find(connection, workspace, name);
    if (!found) throw no_such_secret(name);
    audit(connection, caller, now, "secret.get", name, workspace);
    return *found;
  });
  auto value = co_await core.files.run(core.home, [&] {
    return open_secret(SecretKeys(core.site.key_folder), workspace, name, {row.key_id, row.wrapped_key, row.sealed});
  });
  // Before a script has it, its runner knows what to hide.
  if (request.principal.role == net::Role::run)
    co_await services.desk.hide_secret({request.principal.run_id, request.principal.attempt},
                                       fmt::format("{}@{}", name, row.updated.micros), value, request.cancel);
  auto response = json_response({{"name", name}, {"value", value}, {"updated", base::format_utc(row.updated)}});
  base::wipe(value);
  response.headers["cache-control"] = "no-store";
  co_return response;
}

Task<Response> list(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  const auto& workspace = request.params.at("workspace");
  auto limit = page_limit(request);
  auto cursor = page_cursor(request);
  auto page = co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    return db::secrets::list(connection, workspace, limit, cursor);
  });
  json::array items;
  for (const auto& secret : page.items)
    items.push_back({{"name", secret.name},
                     {"created", base::format_utc(secret.created)},
                     {"updated", base::format_utc(secret.updated)}});
  co_return list_response(std::move(items), page.next);
}

Task<Response> remove(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  const auto& workspace = request.params.at("workspace");
  auto name = secret_name(request);
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_await core.reserve.spend([&] {
    return core.database.write([&](db::Connection& connection) {
      db::workspaces::get(connection, workspace);
      if (!db::secrets::remove(connection, workspace, name)) throw no_such_secret(name);
      audit(connection, caller, now, "secret.delete", name, workspace);
    });
  });
  co_return Response::empty(204);
}

Task<Response> rotate(Services& services, Request& request) {
  allow_query(request, {});
  auto rotated = co_await services.rotation.rotate(caller_of(request));
  co_return json_response({{"key", rotated.key},
                           {"secrets", rotated.secrets},
                           {"unopened", rotated.unopened},
                           {"unused", json::array(rotated.unused.begin(), rotated.unused.end())}});
}

}  // namespace

void add_secret_routes(net::Router& router, Services& services) {
  const std::string all = "/api/v1/workspaces/{workspace}/secrets", one = all + "/{secret}";
  router.add({"GET", all, "listSecrets", Permission::read, endpoint(services, list)});
  router.add({"GET", one, "getSecret", Permission::write_or_own_run, endpoint(services, get)});
  router.add({"PUT", one, "putSecret", Permission::write, endpoint(services, put)});
  router.add(
      {"POST", "/api/v1/secrets/rotate", "rotateSecretKeys", Permission::administer, endpoint(services, rotate)});
  router.add({"DELETE", one, "deleteSecret", Permission::write, endpoint(services, remove)});
}

}  // namespace lathe::server

// Datastores: make, show, forget, and choose the default. Their files are in datastore_file_endpoints.cc.
#include "base/strings.h"
#include "db/workspaces.h"
#include "model/names.h"
#include "server/datastores.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/registry_tools.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::datastores::Datastore;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

json::object show(const Datastore& datastore, std::string_view chosen) {
  const bool is_builtin = is_builtin_datastore(datastore.name);
  json::value path, created;
  if (!datastore.path.empty()) path = datastore.path;
  if (!is_builtin) created = base::format_utc(datastore.created);
  return {{"name", datastore.name},
          {"workspace", datastore.workspace},
          {"kind", datastore.kind},
          {"type", datastore.type},
          {"path", std::move(path)},
          {"writable", datastore.writable},
          {"definition", stored_json(datastore.definition_json)},
          {"is_default", datastore.name == chosen},
          {"is_builtin", is_builtin},
          {"created", std::move(created)}};
}

// Credentials of other services have no place in a definition that every viewer may read.
bool is_credential(std::string_view key) {
  std::string name = base::to_lower(key);
  for (std::string_view word : {"key", "secret", "password", "sas", "token", "credential", "connection_string"})
    if (name.contains(word)) return true;
  return false;
}

json::value without_credentials(const json::value& value) {
  if (const auto* array = value.if_array()) {
    json::array out;
    for (const auto& item : *array) out.push_back(without_credentials(item));
    return out;
  }
  const auto* object = value.if_object();
  if (!object) return value;
  json::object out;
  for (const auto& pair : *object)
    if (!is_credential(pair.key())) out.emplace(pair.key(), without_credentials(pair.value()));
  return out;
}

// A folder of this machine: only for administrators, only below the site's roots, and it must be there.
Task<void> check_local(Core& core, const Request& request, Datastore& datastore) {
  if (!net::is_allowed(Permission::administer, request.principal, request.params))
    throw Error(Code::forbidden, "a folder of the server's machine needs the role admin")
        .hint("ask an administrator to register it, or upload the files to another datastore");
  std::filesystem::path path = std::filesystem::path(datastore.path).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (!path.is_absolute() || datastore.path.size() > 4095 || datastore.path.contains('\0'))
    throw Error(Code::invalid, "path must be an absolute folder").field("path");
  datastore.path = path.string();
  co_await core.files.run(core.home, [&] { open_local(core, datastore); });
}

Datastore parse_put(const Request& request, const json::value& body) {
  Datastore datastore;
  datastore.workspace = request.params.at("workspace");
  datastore.name = request.params.at("datastore");
  datastore.type = "AzureBlob";
  wire::Fields fields(body);
  fields.need("kind")
      .text("kind", datastore.kind)
      .text("path", datastore.path)
      .text("type", datastore.type)
      .boolean("writable", datastore.writable);
  auto definition = free_object(fields, body, "definition");
  check(fields.finish());
  check(model::check_datastore_name(datastore.name));
  check(model::check_tag("type", "type", datastore.type));
  if (datastore.type.size() > 64) throw Error(Code::invalid, "type is longer than 64 bytes").field("type");
  if (datastore.kind != "store" && datastore.kind != "local" && datastore.kind != "cloud")
    throw Error(Code::invalid, "kind must be store, local or cloud").field("kind");
  if (datastore.kind == "store") datastore.writable = true;
  if (datastore.kind == "local") return datastore;
  if (!datastore.path.empty()) throw Error(Code::invalid, "only a local datastore has a path").field("path");
  datastore.definition_json = json::serialize(without_credentials(definition));
  return datastore;
}

Error builtin_refusal(const std::string& name) {
  return Error(Code::conflict, fmt::format("'{}' belongs to every workspace", name))
      .field("datastore")
      .hint("it cannot be changed or removed; choose another name");
}

Task<Response> put_datastore(Services& services, Request& request) {
  auto& core = services.core;
  allow_query(request, {});
  auto body = co_await json_body(request);
  auto datastore = parse_put(request, body);
  if (is_builtin_datastore(datastore.name)) throw builtin_refusal(datastore.name);
  if (datastore.kind == "local") co_await check_local(core, request, datastore);
  datastore.created = core.clock.utc();
  auto caller = caller_of(request);
  bool is_new = false;
  auto view = co_await core.database.write([&](db::Connection& connection) {
    db::workspaces::get(connection, datastore.workspace);
    if (auto old = db::datastores::find(connection, datastore.workspace, datastore.name);
        old && old->kind != datastore.kind)
      throw Error(Code::conflict, fmt::format("the datastore '{}' is of kind {}", old->name, old->kind))
          .field("kind")
          .hint("delete it first");
    is_new = db::datastores::insert_or_update(connection, datastore);
    audit(connection, caller, datastore.created, is_new ? "datastore.create" : "datastore.update", datastore.name,
          datastore.kind);
    return show(*db::datastores::find(connection, datastore.workspace, datastore.name),
                default_datastore(connection, datastore.workspace));
  });
  co_return json_response(view, is_new ? 201 : 200);
}

Task<Response> get_datastore_view(Services& services, Request& request) {
  allow_query(request, {});
  const auto& workspace = request.params.at("workspace");
  co_return json_response(co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    auto found = get_datastore(connection, workspace, request.params.at("datastore"));
    return show(found, default_datastore(connection, workspace));
  }));
}

Task<Response> list_datastores(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  const auto& workspace = request.params.at("workspace");
  const auto scope = "datastores\n" + workspace, after = page_after(request, scope);
  const auto limit = page_limit(request);
  std::string chosen;
  auto found = co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    auto all = builtin_datastores(workspace);
    std::erase_if(all, [&](const Datastore& builtin) { return builtin.name <= after; });
    for (auto& made : db::datastores::list_after(connection, workspace, after, limit + 1))
      all.push_back(std::move(made));
    std::ranges::sort(all, {}, &Datastore::name);
    chosen = default_datastore(connection, workspace);
    return all;
  });
  co_return page_of_names(request, scope, std::move(found),
                          [&](const Datastore& datastore) { return show(datastore, chosen); });
}

Task<Response> delete_datastore(Services& services, Request& request) {
  allow_query(request, {});
  const auto &workspace = request.params.at("workspace"), &name = request.params.at("datastore");
  if (is_builtin_datastore(name)) throw builtin_refusal(name);
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_await core.database.write([&](db::Connection& connection) {
    get_datastore(connection, workspace, name);
    db::datastores::remove(connection, workspace, name);
    audit(connection, caller, now, "datastore.delete", name);
  });
  co_return Response::empty(204);
}

Task<Response> get_default(Services& services, Request& request) {
  allow_query(request, {});
  const auto& workspace = request.params.at("workspace");
  co_return json_response(co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    auto chosen = default_datastore(connection, workspace);
    return show(get_datastore(connection, workspace, chosen), chosen);
  }));
}

Task<Response> set_default(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  const auto& workspace = request.params.at("workspace");
  auto body = co_await json_body(request);
  std::string name;
  wire::Fields fields(body);
  fields.need("name").text("name", name);
  check(fields.finish());
  check(model::check_datastore_name(name));
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_return json_response(co_await core.database.write([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    auto chosen = get_datastore(connection, workspace, name, "name");
    db::datastores::set_default(connection, workspace, name);
    audit(connection, caller, now, "datastore.default", name);
    return show(chosen, name);
  }));
}

}  // namespace

void add_datastore_routes(net::Router& router, Services& services) {
  const std::string workspace = "/api/v1/workspaces/{workspace}", all = workspace + "/datastores",
                    one = all + "/{datastore}", chosen = workspace + "/default-datastore";
  router.add({"GET", all, "listDatastores", Permission::read, endpoint(services, list_datastores)});
  router.add({"GET", one, "getDatastore", Permission::read, endpoint(services, get_datastore_view)});
  router.add({"PUT", one, "putDatastore", Permission::write, endpoint(services, put_datastore)});
  router.add({"DELETE", one, "deleteDatastore", Permission::write, endpoint(services, delete_datastore)});
  router.add({"GET", chosen, "getDefaultDatastore", Permission::read, endpoint(services, get_default)});
  router.add({"PUT", chosen, "setDefaultDatastore", Permission::write, endpoint(services, set_default)});
  add_datastore_file_routes(router, services);
}

}  // namespace lathe::server

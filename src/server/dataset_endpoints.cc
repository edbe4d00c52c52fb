// Datasets: save a definition, register it under a name, show, change, unregister. Their files are in
// dataset_file_endpoints.cc.
#include "base/strings.h"
#include "db/datasets.h"
#include "db/workspaces.h"
#include "model/names.h"
#include "server/dataset_files.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/registry_tools.h"
#include "wire/dataset.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::datasets::Saved;
using db::datasets::Version;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

json::object show(const Saved& dataset) {
  json::value tree, files, bytes;
  if (dataset.content) {
    tree = dataset.content->tree.hex();
    files = dataset.content->files;
    bytes = dataset.content->bytes;
  }
  return {{"id", dataset.id},
          {"workspace", dataset.workspace},
          {"kind", dataset.kind},
          {"definition", stored_json(dataset.definition_json)},
          {"created", base::format_utc(dataset.created)},
          {"tree", std::move(tree)},
          {"files", std::move(files)},
          {"bytes", std::move(bytes)}};
}

json::object show(const Version& version) {
  return {{"name", version.name},
          {"version", version.version},
          {"latest", version.latest},
          {"workspace", version.workspace},
          {"id", version.dataset},
          {"kind", version.kind},
          {"definition", stored_json(version.definition_json)},
          {"description", version.description},
          {"tags", stored_json(version.tags_json)},
          {"created", base::format_utc(version.created)},
          {"created_by", version.created_by}};
}

Response show_page(const db::Page<Version>& page) {
  json::array items;
  for (const auto& version : page.items) items.push_back(show(version));
  return list_response(std::move(items), page.next);
}

json::value without_nulls(const json::value& source) {
  json::object out;
  for (const auto& pair : source.as_object())
    if (!pair.value().is_null()) out.emplace(pair.key(), pair.value());
  return out;
}

// What is kept: every part is there, whether it was written or left out, so that equal definitions have equal ids.
json::object complete(const json::object& given) {
  auto part = [&](std::string_view key, json::value otherwise) {
    const auto* value = given.if_contains(key);
    if (value && !value->is_null()) return *value;
    return otherwise;
  };
  json::array sources;
  for (const auto& source : given.at("sources").as_array()) sources.push_back(without_nulls(source));
  return {{"kind", given.at("kind")},
          {"sources", std::move(sources)},
          {"steps", part("steps", json::array())},
          {"options", part("options", json::object())}};
}

Task<Response> save(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  const auto& workspace = request.params.at("workspace");
  auto body = co_await json_body(request);
  wire::Fields fields(body);
  fields.need("definition").ignore("definition");
  check(fields.finish());
  const auto& given = body.as_object().at("definition");
  auto definition = base::value_or_throw(wire::parse_dataset(given));
  for (const auto& source : definition.sources)
    if (!source.url.empty()) url_file_path(source.url);
  auto text = canonical_json(complete(given.as_object()));
  Saved dataset{workspace, uuid_of("dataset\n" + text), definition.kind, text, core.clock.utc(), std::nullopt};
  auto caller = caller_of(request);
  bool is_new = false;
  auto stored = co_await core.database.write([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    for (const auto& source : definition.sources)
      if (!source.datastore.empty()) get_datastore(connection, workspace, source.datastore, "definition.sources");
    is_new = db::datasets::save(connection, dataset);
    if (is_new) audit(connection, caller, dataset.created, "dataset.save", dataset.id, dataset.kind);
    return db::datasets::get(connection, workspace, dataset.id);
  });
  co_return json_response(show(stored), is_new ? 201 : 200);
}

Task<Response> get_saved(Services& services, Request& request) {
  allow_query(request, {});
  check_uuid("dataset_id", request.params.at("dataset_id"));
  co_return json_response(show(co_await services.core.database.read([&](db::Connection& connection) {
    return db::datasets::get(connection, request.params.at("workspace"), request.params.at("dataset_id"));
  })));
}

struct Registration {
  Version version;
  bool create_new_version = false;
};

Registration parse_registration(const Request& request, const json::value& body) {
  Registration wanted;
  auto& version = wanted.version;
  version.workspace = request.params.at("workspace");
  version.name = request.params.at("dataset");
  std::map<std::string, std::string> tags;
  wire::Fields fields(body);
  fields.need("id")
      .text("id", version.dataset)
      .text("description", version.description)
      .text_map("tags", tags)
      .boolean("create_new_version", wanted.create_new_version);
  check(fields.finish());
  check(model::check_registry_name("dataset", version.name));
  check_uuid("id", version.dataset);
  check(model::check_description(version.description));
  check(model::check_pairs("tags", tags, model::kMaxTags));
  version.tags_json = map_json(tags);
  return wanted;
}

Task<Response> register_version(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  auto body = co_await json_body(request);
  auto wanted = parse_registration(request, body);
  auto& version = wanted.version;
  version.created = core.clock.utc();
  version.created_by = request.principal.name;
  auto caller = caller_of(request);
  bool is_new = false;
  auto stored = co_await core.database.write([&](db::Connection& connection) {
    db::workspaces::get(connection, version.workspace);
    db::datasets::get(connection, version.workspace, version.dataset);
    auto newest = db::datasets::find_version(connection, version.workspace, version.name);
    if (newest && newest->dataset == version.dataset) return *newest;
    if (newest && !wanted.create_new_version)
      throw Error(Code::conflict, fmt::format("the dataset '{}' is registered with another definition", version.name))
          .field("create_new_version")
          .hint("register it with create_new_version=True, or under another name");
    is_new = true;
    auto made = db::datasets::register_version(connection, version);
    audit(connection, caller, version.created, "dataset.register", fmt::format("{}:{}", made.name, made.version),
          made.dataset);
    return made;
  });
  co_return json_response(show(stored), is_new ? 201 : 200);
}

Task<Response> list_datasets(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  int limit = page_limit(request);
  auto cursor = page_cursor(request);
  co_return show_page(co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, request.params.at("workspace"));
    return db::datasets::list_latest(connection, request.params.at("workspace"), limit, cursor);
  }));
}

Task<Response> list_versions(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  int limit = page_limit(request);
  auto cursor = page_cursor(request);
  co_return show_page(co_await services.core.database.read([&](db::Connection& connection) {
    const auto &workspace = request.params.at("workspace"), &name = request.params.at("dataset");
    db::datasets::get_version(connection, workspace, name);
    return db::datasets::list_versions(connection, workspace, name, limit, cursor);
  }));
}

std::int64_t wanted_version(const Request& request) {
  return parse_version(request.query_value("version").value_or("latest"));
}

Task<Response> get_version(Services& services, Request& request) {
  allow_query(request, {"version"});
  auto number = wanted_version(request);
  co_return json_response(show(co_await services.core.database.read([&](db::Connection& connection) {
    return db::datasets::get_version(connection, request.params.at("workspace"), request.params.at("dataset"), number);
  })));
}

Task<Response> patch_version(Services& services, Request& request) {
  allow_query(request, {"version"});
  auto& core = services.core;
  auto number = wanted_version(request);
  auto body = co_await json_body(request);
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_return json_response(show(co_await core.database.write([&](db::Connection& connection) {
    auto version =
        db::datasets::get_version(connection, request.params.at("workspace"), request.params.at("dataset"), number);
    auto tags = stored_map(version.tags_json);
    wire::Fields fields(body);
    fields.text("description", version.description);
    patch_tags(fields, body, tags);
    check(fields.finish());
    check(model::check_description(version.description));
    version.tags_json = map_json(tags);
    db::datasets::update_version(connection, version);
    audit(connection, caller, now, "dataset.update", fmt::format("{}:{}", version.name, version.version));
    return version;
  })));
}

Task<Response> unregister(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  const auto &workspace = request.params.at("workspace"), &name = request.params.at("dataset");
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_await core.database.write([&](db::Connection& connection) {
    db::datasets::get_version(connection, workspace, name);
    int versions = db::datasets::remove_name(connection, workspace, name);
    audit(connection, caller, now, "dataset.unregister", name, fmt::format("{} versions", versions));
  });
  co_return Response::empty(204);
}

}  // namespace

void add_dataset_routes(net::Router& router, Services& services) {
  const std::string all = "/api/v1/workspaces/{workspace}/datasets", one = all + "/{dataset}";
  router.add({"GET", all, "listDatasets", Permission::read, endpoint(services, list_datasets)});
  router.add({"POST", all, "saveDataset", Permission::write_or_own_run, endpoint(services, save)});
  router.add({"GET", all + "/by-id/{dataset_id}", "getSavedDataset", Permission::read, endpoint(services, get_saved)});
  router.add({"GET", one, "getDataset", Permission::read, endpoint(services, get_version)});
  router.add({"PATCH", one, "patchDataset", Permission::write, endpoint(services, patch_version)});
  router.add({"DELETE", one, "deleteDataset", Permission::write, endpoint(services, unregister)});
  router.add({"GET", one + "/versions", "listDatasetVersions", Permission::read, endpoint(services, list_versions)});
  router.add({"POST", one + "/versions", "registerDataset", Permission::write_or_own_run,
              endpoint(services, register_version)});
  add_dataset_file_routes(router, services);
}

}  // namespace lathe::server

// Models: register, list, show, change, delete, and where they come from.
#include "db/datasets.h"
#include "db/models.h"
#include "db/run_inputs.h"
#include "db/runs.h"
#include "db/workspaces.h"
#include "model/names.h"
#include "model/run_state.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/model_content.h"
#include "server/model_registration.h"
#include "server/registry_tools.h"
#include "wire/run_data.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::models::Model;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

constexpr std::size_t kMaxTagFilter = model::kMaxTagKeyBytes + 1 + model::kMaxTagValueBytes;

json::object show(const Model& model) {
  const auto details = stored_json(model.details_json);
  json::object view{{"id", model.id},
                    {"name", model.name},
                    {"version", model.version},
                    {"latest", model.latest},
                    {"workspace", model.workspace},
                    {"tree", model.tree.hex()},
                    {"files", model.files},
                    {"bytes", model.bytes},
                    {"run", text_or_null(model.run)},
                    {"framework", text_or_null(model.framework)},
                    {"description", model.description},
                    {"tags", stored_json(model.tags_json)},
                    {"properties", stored_json(model.properties_json)},
                    {"created", base::format_utc(model.created)},
                    {"created_by", model.created_by}};
  for (const auto& pair : details.as_object()) view.emplace(pair.key(), pair.value());
  return view;
}

// The registration that this id stands for already; another content under it is a conflict.
std::optional<Model> find_repeated(db::Connection& connection, const Model& wanted) {
  auto known = db::models::find_by_id(connection, wanted.workspace, wanted.id);
  if (known && known->request_digest != wanted.request_digest)
    throw Error(Code::conflict, fmt::format("the id {} was used for {}:{}", wanted.id, known->name, known->version))
        .field("id")
        .hint("make a new id for every registration");
  return known;
}

// A run token registers what its own run made, or a descendant of it.
void check_owner(db::Connection& connection, const net::Principal& principal, const WantedModel& wanted) {
  if (principal.role != net::Role::run || wanted.model.run.empty()) return;
  if (!db::runs::belongs_to(connection, {wanted.model.run}, {principal.run_id}))
    throw Error(Code::forbidden, "a run registers only what it or one of its children made").field("run");
}

Task<Response> register_model(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  auto body = co_await json_body(request);
  auto wanted = parse_model_registration(request, body);
  auto& model = wanted.model;
  auto known = co_await core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, model.workspace);
    check_owner(connection, request.principal, wanted);
    for (const auto& id : wanted.datasets) db::datasets::get(connection, model.workspace, id);
    if (!model.run.empty()) get_run(connection, model.workspace, model.run);
    return find_repeated(connection, model);
  });
  if (known) co_return json_response(show(*known));
  const auto& origin = wanted.origin;
  if (origin.tree) co_await services.rights.require_nameable_tree(request.principal, *origin.tree, "tree");
  if (origin.blob)
    co_await services.rights.require_nameable(request.principal, std::vector<base::Digest>(1, *origin.blob), "blob");
  auto content = co_await resolve_model_content(core, services.trees, origin);
  auto inspected = co_await inspect_model(core, content.tree, model.framework);
  wanted.details["inspection"] = std::move(inspected.inspection);
  wanted.details["warnings"] = json::array(inspected.warnings.begin(), inspected.warnings.end());
  model.details_json = json::serialize(wanted.details);
  model.tree = content.digest;
  model.files = static_cast<std::int64_t>(content.tree.entries.size());
  model.bytes = static_cast<std::int64_t>(content.tree.total_bytes());
  model.created = core.clock.utc();
  model.created_by = request.principal.name;
  auto caller = caller_of(request);
  bool is_new = false;
  auto stored = co_await core.database.write([&](db::Connection& connection) {
    if (auto repeated = find_repeated(connection, model)) return *repeated;
    is_new = true;
    auto made = db::models::insert(connection, model);
    audit(connection, caller, model.created, "model.register", fmt::format("{}:{}", made.name, made.version),
          made.tree.hex());
    return made;
  });
  co_return json_response(show(stored), is_new ? 201 : 200);
}

Task<Response> list_models(Services& services, Request& request) {
  allow_query(request, {"name", "tag", "property", "run", "framework", "latest", "limit", "cursor"});
  db::models::Filter filter;
  auto value = [&](const char* name, std::size_t longest) -> std::optional<std::string> {
    if (!request.query_value(name)) return std::nullopt;
    auto text = require_query(request, name);
    if (text.size() > longest)
      throw Error(Code::invalid, fmt::format("{} is longer than {} bytes", name, longest)).field(name);
    return text;
  };
  filter.name = value("name", 255);
  filter.tag = value("tag", kMaxTagFilter);
  filter.property = value("property", kMaxTagFilter);
  filter.run = value("run", 256);
  filter.framework = value("framework", 255);
  filter.latest = query_flag(request, "latest", false);
  if (filter.run) check(model::check_run_id(*filter.run));
  int limit = page_limit(request);
  auto cursor = page_cursor(request);
  auto page = co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, request.params.at("workspace"));
    return db::models::list(connection, request.params.at("workspace"), filter, limit, cursor);
  });
  json::array items;
  for (const auto& model : page.items) items.push_back(show(model));
  co_return list_response(std::move(items), page.next);
}

std::int64_t path_version(const Request& request) {
  auto found = request.params.find("version");
  if (found == request.params.end()) return 0;
  auto number = parse_version(found->second);
  if (number == 0) throw Error(Code::invalid, "the version of a path is a number").field("version");
  return number;
}

Model load(db::Connection& connection, const Request& request) {
  return db::models::get(connection, request.params.at("workspace"), request.params.at("model"), path_version(request));
}

Task<Response> get_model(Services& services, Request& request) {
  allow_query(request, {});
  co_return json_response(show(
      co_await services.core.database.read([&](db::Connection& connection) { return load(connection, request); })));
}

// Properties are added, never changed: what was said about a model stays said.
void add_properties(Model& model, const std::map<std::string, std::string>& added) {
  auto properties = stored_map(model.properties_json);
  for (const auto& [key, value] : added) {
    auto [place, is_new] = properties.emplace(key, value);
    if (!is_new && place->second != value)
      throw Error(Code::conflict, fmt::format("the property '{}' is set already", key))
          .field("properties")
          .hint("properties do not change; use a tag");
  }
  check(model::check_pairs("properties", properties, model::kMaxProperties));
  model.properties_json = map_json(properties);
}

Task<Response> patch_model(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  auto body = co_await json_body(request);
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_return json_response(show(co_await core.database.write([&](db::Connection& connection) {
    auto model = load(connection, request);
    auto tags = stored_map(model.tags_json);
    std::map<std::string, std::string> added;
    wire::Fields fields(body);
    fields.text("description", model.description).text_map("properties", added);
    patch_tags(fields, body, tags);
    check(fields.finish());
    check(model::check_description(model.description));
    add_properties(model, added);
    model.tags_json = map_json(tags);
    db::models::update(connection, model);
    audit(connection, caller, now, "model.update", fmt::format("{}:{}", model.name, model.version));
    return model;
  })));
}

Task<Response> delete_model(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_await core.database.write([&](db::Connection& connection) {
    auto model = load(connection, request);
    db::models::remove(connection, model.workspace, model.name, model.version);
    audit(connection, caller, now, "model.delete", fmt::format("{}:{}", model.name, model.version), model.tree.hex());
  });
  co_return Response::empty(204);
}

json::value show_run(db::Connection& connection, const Model& model) {
  if (model.run.empty()) return nullptr;
  json::object view{{"id", model.run},   {"exists", false},     {"experiment", nullptr},
                    {"status", nullptr}, {"snapshot", nullptr}, {"inputs", json::object()}};
  auto run = db::runs::find(connection, {model.run});
  if (!run || run->workspace != model.workspace) return view;
  view["exists"] = true;
  view["experiment"] = run->spec.experiment;
  view["status"] = model::state_name(run->state);
  if (run->spec.snapshot) view["snapshot"] = run->spec.snapshot->hex();
  wire::add_run_data(view, run->spec.inputs, {});
  wire::show_resolved(view, db::run_inputs::list(connection, run->sequence));
  return view;
}

json::array show_datasets(db::Connection& connection, const Model& model) {
  json::array out;
  const auto details = stored_json(model.details_json);
  for (const auto& entry : details.at("datasets").as_array()) {
    std::string id(entry.at("id").as_string());
    auto saved = db::datasets::find(connection, model.workspace, id);
    json::array names;
    for (const auto& name : db::datasets::registered_as(connection, model.workspace, id))
      names.push_back(json::string(name));
    json::value tree;
    if (saved && saved->content) tree = saved->content->tree.hex();
    out.push_back({{"name", entry.at("name")}, {"id", id}, {"tree", tree}, {"registered_as", std::move(names)}});
  }
  return out;
}

Task<Response> get_lineage(Services& services, Request& request) {
  allow_query(request, {});
  co_return json_response(co_await services.core.database.read([&](db::Connection& connection) {
    auto model = load(connection, request);
    return json::object{{"model", fmt::format("{}:{}", model.name, model.version)},
                        {"tree", model.tree.hex()},
                        {"run", show_run(connection, model)},
                        {"datasets", show_datasets(connection, model)}};
  }));
}

}  // namespace

void add_model_routes(net::Router& router, Services& services) {
  const std::string all = "/api/v1/workspaces/{workspace}/models", newest = all + "/{model}",
                    one = newest + "/versions/{version}";
  router.add({"GET", all, "listModels", Permission::read, endpoint(services, list_models)});
  router.add({"POST", all, "registerModel", Permission::write_or_own_run, endpoint(services, register_model)});
  router.add({"GET", newest, "getModel", Permission::read, endpoint(services, get_model)});
  router.add({"GET", one, "getModelVersion", Permission::read, endpoint(services, get_model)});
  router.add({"PATCH", one, "patchModel", Permission::write, endpoint(services, patch_model)});
  router.add({"DELETE", one, "deleteModel", Permission::write, endpoint(services, delete_model)});
  router.add({"GET", one + "/lineage", "getModelLineage", Permission::read, endpoint(services, get_lineage)});
}

}  // namespace lathe::server

#include "server/model_registration.h"

#include "model/names.h"
#include "server/registry_tools.h"

namespace lathe::server {

using base::Code;
using base::Error;
using net::Request;
namespace json = boost::json;

json::value text_or_null(const std::string& text) { return text.empty() ? json::value() : json::value(text); }

namespace {

void read_resources(wire::Fields& fields, json::object& details) {
  details["resource_configuration"] = nullptr;
  fields.object("resource_configuration", [&](wire::Fields& entry) {
    json::object resources{{"cpu", nullptr}, {"memory_in_gb", nullptr}, {"gpu", nullptr}};
    for (std::string_view key : {"cpu", "memory_in_gb", "gpu"}) {
      double value = 0;
      const bool given = entry.has(key);
      entry.number(key, value);
      if (value < 0 || value > 1e7)
        throw Error(Code::invalid, fmt::format("{} is out of range", key)).field("resource_configuration");
      if (given) resources[key] = value;
    }
    details["resource_configuration"] = std::move(resources);
  });
}

void read_datasets(wire::Fields& fields, WantedModel& wanted) {
  json::array datasets;
  fields.objects("datasets", [&](wire::Fields& entry) {
    std::string name, id;
    entry.need("id").text("id", id).text("name", name);
    check_uuid("datasets", id);
    check(model::check_tag("datasets", "name", name));
    datasets.push_back({{"name", text_or_null(name)}, {"id", id}});
    wanted.datasets.push_back(id);
  });
  if (datasets.size() > 100) throw Error(Code::too_large, "a model names at most 100 datasets").field("datasets");
  wanted.details["datasets"] = std::move(datasets);
  for (std::string_view key : {"sample_input_dataset", "sample_output_dataset"}) {
    std::string id;
    fields.text(key, id);
    if (!id.empty()) check_uuid(key, id);
    if (!id.empty()) wanted.datasets.push_back(id);
    wanted.details[key] = text_or_null(id);
  }
}

void check_wanted(const WantedModel& wanted, const std::string& framework_version) {
  check_uuid("id", wanted.model.id);
  check(model::check_registry_name("name", wanted.model.name));
  check(model::check_description(wanted.model.description));
  check(model::check_tag("framework", "framework", wanted.model.framework));
  check(model::check_tag("framework_version", "version", framework_version));
  if (wanted.model.framework.size() > 255 || framework_version.size() > 255)
    throw Error(Code::invalid, "a framework's name has at most 255 bytes").field("framework");
  if (!wanted.model.run.empty()) check(model::check_run_id(wanted.model.run));
  check(model::check_pairs("tags", wanted.tags, model::kMaxTags));
  check(model::check_pairs("properties", wanted.properties, model::kMaxProperties));
}

}  // namespace

WantedModel parse_model_registration(const Request& request, const json::value& body) {
  WantedModel wanted;
  auto& model = wanted.model;
  auto& origin = wanted.origin;
  std::string framework_version;
  model.workspace = origin.workspace = request.params.at("workspace");
  wire::Fields fields(body);
  fields.need("id").need("name").text("id", model.id).text("name", model.name).text("run", model.run);
  fields.text("datastore", origin.datastore).text("path", origin.path).text("file_name", origin.file_name);
  fields.digest("tree", origin.tree).digest("blob", origin.blob);
  fields.text("framework", model.framework).text("framework_version", framework_version);
  fields.text("description", model.description).text_map("tags", wanted.tags);
  fields.text_map("properties", wanted.properties);
  read_resources(fields, wanted.details);
  read_datasets(fields, wanted);
  check(fields.finish());
  if (model.run.empty()) model.run = request.principal.run_id;  // empty but for a run's own token
  check_wanted(wanted, framework_version);
  // With a datastore the run, if one is named, is only where the model comes from.
  if (origin.datastore.empty() && !origin.tree && !origin.blob) origin.run = model.run;
  wanted.details["framework_version"] = text_or_null(framework_version);
  wanted.details["path"] = text_or_null(origin.path);
  model.tags_json = map_json(wanted.tags);
  model.properties_json = map_json(wanted.properties);
  model.request_digest = base::sha256(canonical_json(body));
  return wanted;
}

}  // namespace lathe::server

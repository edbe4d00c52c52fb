#include "wire/run_data.h"

#include <boost/json.hpp>

namespace lathe::wire {
namespace {

namespace json = boost::json;
using namespace model;

constexpr std::string_view kInputModes = "mount, download or direct", kOutputModes = "upload or mount";

json::object map_json(const std::map<std::string, std::string>& map) {
  json::object out;
  for (const auto& [key, value] : map) out.emplace(key, value);
  return out;
}

json::object input_json(const RunInput& input) {
  json::object out;
  if (!input.dataset.empty()) out["dataset"] = input.dataset;
  if (!input.datastore.empty()) {
    out["datastore"] = input.datastore;
    out["path"] = input.path;
  }
  out["mode"] = input_mode_name(input.mode);
  if (!input.path_on_compute.empty()) out["path_on_compute"] = input.path_on_compute;
  return out;
}

json::object output_json(const RunOutput& output) {
  json::object out{{"datastore", output.datastore},
                   {"mode", output_mode_name(output.mode)},
                   {"overwrite", output.overwrite},
                   {"path", output.path}};
  if (output.registration)
    out["register"] = {{"description", output.registration->description},
                       {"name", output.registration->name},
                       {"tags", map_json(output.registration->tags)}};
  return out;
}

json::object url_json(const UrlRead& read) {
  return {{"url", read.url},
          {"etag", read.etag.empty() ? json::value(nullptr) : json::value(read.etag)},
          {"digest", read.digest.hex()},
          {"size", read.size}};
}

json::object resolved_json(const ResolvedInput& input) {
  json::object out;
  if (!input.dataset_name.empty()) {
    out["dataset_name"] = input.dataset_name;
    out["dataset_version"] = input.dataset_version;
  }
  if (input.tree) {
    out["tree"] = input.tree->hex();
    out["files"] = input.files;
    out["bytes"] = input.bytes;
  }
  if (!input.only_file.empty()) out["only_file"] = input.only_file;
  json::array urls;
  for (const auto& read : input.urls) urls.push_back(url_json(read));
  if (!urls.empty()) out["sources"] = std::move(urls);
  return out;
}

void read_url(Fields& fields, ResolvedInput& input) {
  UrlRead read;
  std::optional<base::Digest> digest;
  fields.text("url", read.url).text("etag", read.etag).digest("digest", digest).integer("size", read.size);
  read.digest = digest.value_or(base::Digest());
  input.urls.push_back(std::move(read));
}

}  // namespace

void read_run_data(Fields& fields, RunInputs& inputs, RunOutputs& outputs) {
  fields.object_map("inputs", [&](const std::string& name, Fields& nested) {
    RunInput& input = inputs[name];
    nested.text("dataset", input.dataset)
        .text("datastore", input.datastore)
        .text("path", input.path)
        .word("mode", input.mode, input_mode_from_name, kInputModes)
        .text("path_on_compute", input.path_on_compute);
  });
  fields.object_map("outputs", [&](const std::string& name, Fields& nested) {
    RunOutput& output = outputs[name];
    nested.text("datastore", output.datastore)
        .text("path", output.path)
        .word("mode", output.mode, output_mode_from_name, kOutputModes)
        .boolean("overwrite", output.overwrite)
        .object("register", [&](Fields& registration) {
          OutputRegistration& wanted = output.registration.emplace();
          registration.need("name")
              .text("name", wanted.name)
              .text("description", wanted.description)
              .text_map("tags", wanted.tags);
        });
  });
}

void add_run_data(json::object& out, const RunInputs& inputs, const RunOutputs& outputs) {
  json::object reads, writes;
  for (const auto& [name, input] : inputs) reads[name] = input_json(input);
  for (const auto& [name, output] : outputs) writes[name] = output_json(output);
  if (!reads.empty()) out["inputs"] = std::move(reads);
  if (!writes.empty()) out["outputs"] = std::move(writes);
}

std::string encode_resolved(const ResolvedInput& input) { return json::serialize(resolved_json(input)); }

base::Result<ResolvedInput> decode_resolved(std::string_view text) {
  LATHE_TRY(json::value value, parse_json(text));
  ResolvedInput input;
  Fields fields(value, Unknown::pass);
  fields.text("dataset_name", input.dataset_name)
      .integer("dataset_version", input.dataset_version)
      .digest("tree", input.tree)
      .integer("files", input.files)
      .integer("bytes", input.bytes)
      .text("only_file", input.only_file)
      .objects("sources", [&](Fields& nested) { read_url(nested, input); });
  LATHE_TRY_VOID(fields.finish());
  return input;
}

void show_resolved(json::object& run, const ResolvedInputs& resolved) {
  json::value* inputs = run.if_contains("inputs");
  if (!inputs || !inputs->is_object()) return;
  for (const auto& [name, input] : resolved)
    if (json::value* shown = inputs->get_object().if_contains(name); shown && shown->is_object())
      for (auto& field : resolved_json(input)) shown->get_object()[field.key()] = field.value();
}

json::array inputs_json(std::span<const InputOrder> inputs) {
  json::array out;
  for (const auto& input : inputs)
    out.push_back({{"name", input.name},
                   {"mode", input_mode_name(input.mode)},
                   {"dataset", input.dataset},
                   {"datastore", input.datastore},
                   {"path", input.path},
                   {"tree", input.tree ? json::value(input.tree->hex()) : json::value(nullptr)},
                   {"only_file", input.only_file},
                   {"path_on_compute", input.path_on_compute},
                   {"folder", input.folder}});
  return out;
}

json::array outputs_json(std::span<const OutputOrder> outputs) {
  json::array out;
  for (const auto& output : outputs) out.push_back({{"name", output.name}, {"mode", output_mode_name(output.mode)}});
  return out;
}

void read_inputs(Fields& fields, std::vector<InputOrder>& inputs) {
  fields.objects("inputs", [&](Fields& nested) {
    InputOrder& input = inputs.emplace_back();
    nested.text("name", input.name)
        .word("mode", input.mode, input_mode_from_name, kInputModes)
        .text("dataset", input.dataset)
        .text("datastore", input.datastore)
        .text("path", input.path)
        .digest("tree", input.tree)
        .text("only_file", input.only_file)
        .text("path_on_compute", input.path_on_compute)
        .text("folder", input.folder);
  });
}

void read_outputs(Fields& fields, std::vector<OutputOrder>& outputs) {
  fields.objects("outputs", [&](Fields& nested) {
    OutputOrder& output = outputs.emplace_back();
    nested.text("name", output.name).word("mode", output.mode, output_mode_from_name, kOutputModes);
  });
}

}  // namespace lathe::wire

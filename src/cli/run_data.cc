#include "cli/run_data.h"

#include <algorithm>

#include "cli/data_fields.h"
#include "model/run_data.h"

namespace lathe::cli {
namespace {

base::Error usage(std::string_view option, std::string_view text, std::string_view form) {
  return base::Error(base::Code::invalid, fmt::format("'{}' is not of the form {}", text, form))
      .field(std::string(option))
      .hint(fmt::format("for example --{} {}", option,
                        option == kInputOption.name ? "mnist=mnist:2@download" : "scans=workspaceblobstore:scans"));
}

// What is before an @ that a word of a mode follows, the mode, and what is behind a colon after it.
struct Moded {
  std::string what, mode, path;
};
Moded split_mode(const std::string& text, auto is_mode) {
  for (auto at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
    const auto colon = std::min(text.find(':', at), text.size());
    auto mode = text.substr(at + 1, colon - at - 1);
    if (is_mode(mode)) return {text.substr(0, at), std::move(mode), text.substr(std::min(colon + 1, text.size()))};
  }
  return {text, "", ""};
}

Moded split_input(const std::string& text) {
  return split_mode(text, [](std::string_view word) { return model::input_mode_from_name(word).has_value(); });
}

// Each option of this name as NAME=TEXT; a name twice is a mistake.
base::Result<std::vector<std::pair<std::string, std::string>>> named(const Call& call, const Option& option,
                                                                     const json::object& known) {
  LATHE_TRY(auto pairs, call.arguments.pairs(option.name));
  for (auto pair = pairs.begin(); pair != pairs.end(); ++pair) {
    if (pair->second.empty()) return base::fail(usage(option.name, pair->first + "=", option.value));
    if (known.contains(pair->first) ||
        std::any_of(pairs.begin(), pair, [&](const auto& before) { return before.first == pair->first; }))
      return base::fail(base::Error(base::Code::invalid, fmt::format("'{}' is given twice", pair->first))
                            .field(std::string(option.name)));
  }
  return pairs;
}

json::object with_mode(json::object input, const Moded& typed) {
  if (!typed.mode.empty()) input["mode"] = typed.mode;
  if (!typed.path.empty()) input["path_on_compute"] = typed.path;
  return input;
}

base::Result<json::object> make_inputs(Call& call) {
  json::object inputs;
  LATHE_TRY(auto datasets, named(call, kInputOption, inputs));
  for (const auto& [name, text] : datasets) {
    auto typed = split_input(text);
    LATHE_TRY(auto answer, call.api().get(data_path(call, typed.what)));
    LATHE_TRY(auto dataset, parse_json(answer, "the dataset"));
    inputs[name] = with_mode({{"dataset", text_at(dataset, "/id")}}, std::move(typed));
  }
  LATHE_TRY(auto references, named(call, kReferenceOption, inputs));
  for (const auto& [name, text] : references) {
    auto typed = split_input(text);
    const auto colon = typed.what.find(':');
    if (colon == typed.what.npos || colon == 0)
      return base::fail(usage(kReferenceOption.name, text, kReferenceOption.value));
    json::object place{{"datastore", typed.what.substr(0, colon)}, {"path", typed.what.substr(colon + 1)}};
    inputs[name] = with_mode(std::move(place), std::move(typed));
  }
  return inputs;
}

base::Result<json::object> make_outputs(Call& call) {
  json::object outputs;
  LATHE_TRY(auto places, named(call, kOutputOption, outputs));
  for (const auto& [name, text] : places) {
    auto typed = split_mode(text, [](std::string_view word) { return model::output_mode_from_name(word).has_value(); });
    const auto colon = std::min(typed.what.find(':'), typed.what.size());
    if (colon == 0 || !typed.path.empty()) return base::fail(usage(kOutputOption.name, text, kOutputOption.value));
    auto path = typed.what.substr(std::min(colon + 1, typed.what.size()));
    json::object output{{"datastore", typed.what.substr(0, colon)},
                        {"path", path.empty() ? "dataset/{run-id}/" + name : path},
                        {"overwrite", call.arguments.has(kOverwriteOption.name)}};
    if (!typed.mode.empty()) output["mode"] = typed.mode;
    outputs[name] = std::move(output);
  }
  LATHE_TRY(auto registrations, call.arguments.pairs(kRegisterOption.name));
  for (const auto& [name, dataset] : registrations) {
    auto* output = outputs.if_contains(name);
    if (!output)
      return base::fail(base::Error(base::Code::invalid, fmt::format("there is no output '{}' to register", name))
                            .field(std::string(kRegisterOption.name))
                            .hint(fmt::format("add --{} {}=DATASTORE", kOutputOption.name, name)));
    output->as_object()["register"] = {{"name", dataset}};
  }
  return outputs;
}

}  // namespace

base::Result<void> add_run_data(Call& call, json::object& body) {
  LATHE_TRY(auto inputs, make_inputs(call));
  if (!inputs.empty()) body["inputs"] = std::move(inputs);
  LATHE_TRY(auto outputs, make_outputs(call));
  if (!outputs.empty()) body["outputs"] = std::move(outputs);
  return {};
}

}  // namespace lathe::cli

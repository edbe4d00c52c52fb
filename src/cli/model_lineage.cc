#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/model_fields.h"

namespace lathe::cli {
namespace {

constexpr std::array kFields{Column{"model", "/model"},
                             Column{"tree", "/tree"},
                             Column{"run", "/run/id"},
                             Column{"experiment", "/run/experiment"},
                             Column{"status", "/run/status"},
                             Column{"snapshot", "/run/snapshot"},
                             Column{"inputs", "/read", Shown::list},
                             Column{"datasets", "/data", Shown::list}};

// What the run read, with the digest of its bytes.
json::array inputs_of(const json::value& lineage) {
  json::array out;
  const auto* run = lineage.at("run").if_object();
  const auto* inputs = run ? run->if_contains("inputs") : nullptr;
  if (!inputs || !inputs->is_object()) return out;
  for (const auto& input : inputs->get_object()) {
    const auto& shown = input.value();
    auto source = text_at(shown, "/dataset_name").empty()
                      ? text_at(shown, "/dataset") + text_at(shown, "/datastore")
                      : fmt::format("{}:{}", text_at(shown, "/dataset_name"), text_at(shown, "/dataset_version"));
    out.emplace_back(fmt::format("{} {} {}", std::string_view(input.key()), source, text_at(shown, "/tree")));
  }
  return out;
}

base::Result<int> lineage(Call& call) {
  LATHE_TRY(auto text, call.api().get(model_path(call, call.argument(0))));
  LATHE_TRY(auto model, parse_json(text, "the model"));
  auto path =
      call.workspace_path({"models", text_at(model, "/name"), "versions", text_at(model, "/version"), "lineage"});
  LATHE_TRY(auto answer, call.api().get(path));
  if (call.settings.json) return call.print_one(answer, kFields);
  LATHE_TRY(auto value, parse_json(answer, "the lineage"));
  json::array data;
  for (const auto& dataset : value.at("datasets").as_array())
    data.emplace_back(
        fmt::format("{} {} {}", text_at(dataset, "/name"), text_at(dataset, "/id"), text_at(dataset, "/tree")));
  value.as_object()["data"] = std::move(data);
  value.as_object()["read"] = inputs_of(value);
  return call.print_one(json::serialize(value), kFields);
}

}  // namespace

constinit const Command kModelLineage{.path = "model lineage",
                                      .summary = "Show where a model comes from: run, snapshot, data",
                                      .arguments = kVersionArgument,
                                      .run = lineage};

}  // namespace lathe::cli

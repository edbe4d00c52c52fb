#include "wire/run.h"

#include <boost/json.hpp>

#include "model/names.h"
#include "wire/canonical.h"
#include "wire/json.h"
#include "wire/raw.h"
#include "wire/records.h"
#include "wire/run_data.h"

namespace lathe::wire {
namespace {

namespace json = boost::json;
using model::RunSpec;

json::object map_json(const std::map<std::string, std::string>& map) {
  json::object out;
  for (const auto& [key, value] : map) out.emplace(key, value);
  return out;
}

json::object tags_json(const model::Tags& tags) {
  json::object out;
  for (const auto& [key, value] : tags) out.emplace(key, value ? json::value(*value) : json::value(nullptr));
  return out;
}

json::array texts_json(const std::vector<std::string>& texts) { return json::array(texts.begin(), texts.end()); }

json::value time_json(const std::optional<base::UtcTime>& time) {
  return time ? json::value(base::format_utc(*time)) : json::value(nullptr);
}

// `definition`: of the environment, as an object where it is submitted and as a digest where it is stored.
void read_spec(Fields& fields, RunSpec& spec, const json::value*& definition) {
  fields.text("experiment", spec.experiment)
      .text("display_name", spec.display_name)
      .text("script", spec.command.script)
      .texts("command", spec.command.command)
      .texts("arguments", spec.command.arguments)
      .object("environment",
              [&](Fields& nested) {
                nested.text("interpreter", spec.environment.interpreter)
                    .text_map("variables", spec.environment.variables)
                    .text("name", spec.environment.name)
                    .text("version", spec.environment.version)
                    .any("definition", definition);
              })
      .digest("snapshot", spec.snapshot)
      .text("compute", spec.compute)
      .integer("node_count", spec.node_count)
      .integer("priority", spec.priority)
      .integer("max_run_duration_seconds", spec.max_run_duration_seconds)
      .integer("grace_seconds", spec.grace_seconds)
      .object("retries",
              [&](Fields& nested) {
                nested.integer("infrastructure", spec.retries.infrastructure).integer("user", spec.retries.user);
              })
      .tag_map("tags", spec.tags)
      .text_map("properties", spec.properties)
      .word("kind", spec.kind, model::kind_from_name, "script or interactive")
      .text("parent", spec.parent.value)
      .text("run_type", spec.run_type);
  read_run_data(fields, spec.inputs, spec.outputs);
  if (spec.kind == model::RunKind::interactive && spec.compute == RunSpec().compute) spec.compute.clear();
}

// Taken from the text of the submit: the client gets back what it gave.
base::Result<void> take_definition(const json::value& value, std::string_view body, RunSubmit& submit) {
  auto refuse = [](base::Code code, std::string message) {
    return base::fail(base::Error(code, std::move(message)).field("definition").hint("give a smaller JSON object"));
  };
  if (!value.is_object()) return refuse(base::Code::invalid, "definition must be an object");
  submit.definition = raw_member(body, "definition");
  if (submit.definition.size() > kMaxDefinitionBytes)
    return refuse(base::Code::too_large, fmt::format("definition has {} bytes; at most {} are allowed",
                                                     submit.definition.size(), kMaxDefinitionBytes));
  submit.spec.definition = base::sha256(submit.definition);
  return {};
}

// In canonical form, so that the digest says whether two are the same; without the name and version it is registered
// under, which change nothing about what is built.
base::Result<void> take_environment(const json::value& value, RunSubmit& submit) {
  if (!value.is_object() || json::serialize(value).size() > kMaxDefinitionBytes)
    return base::fail(base::Error(base::Code::invalid, "environment.definition must be an object of at most 1 MiB")
                          .field("environment.definition"));
  submit.environment_definition = canonical_environment(value.get_object());
  submit.spec.environment.definition = base::sha256(submit.environment_definition);
  return {};
}

json::object environment_json(const model::EnvironmentRef& environment) {
  json::object out{{"interpreter", environment.interpreter}, {"variables", map_json(environment.variables)}};
  if (!environment.name.empty()) out["name"] = environment.name;
  if (!environment.version.empty()) out["version"] = environment.version;
  if (environment.definition) out["definition"] = environment.definition->hex();
  return out;
}

// Keys in alphabetical order: the canonical form.
json::object spec_json(const RunSpec& spec) {
  json::object out;
  out["arguments"] = texts_json(spec.command.arguments);
  out["command"] = texts_json(spec.command.command);
  out["compute"] = spec.compute;
  out["display_name"] = spec.display_name;
  out["environment"] = environment_json(spec.environment);
  out["experiment"] = spec.experiment;
  out["grace_seconds"] = spec.grace_seconds;
  if (spec.kind != model::RunKind::script) out["kind"] = model::kind_name(spec.kind);
  out["max_run_duration_seconds"] = spec.max_run_duration_seconds;
  out["node_count"] = spec.node_count;
  if (!spec.parent.value.empty()) out["parent"] = spec.parent.value;
  out["priority"] = spec.priority;
  out["properties"] = map_json(spec.properties);
  out["retries"] = {{"infrastructure", spec.retries.infrastructure}, {"user", spec.retries.user}};
  if (!spec.run_type.empty()) out["run_type"] = spec.run_type;
  out["script"] = spec.command.script;
  out["snapshot"] = spec.snapshot ? json::value(spec.snapshot->hex()) : json::value(nullptr);
  out["tags"] = tags_json(spec.tags);
  add_run_data(out, spec.inputs, spec.outputs);
  return out;
}

}  // namespace

base::Result<RunSubmit> parse_run_submit(std::string_view body) {
  LATHE_TRY(json::value value, parse_json(body, kMaxSubmitBytes));
  RunSubmit submit;
  Fields fields(value);
  const json::value *definition = nullptr, *environment = nullptr;
  fields.need("id").need("experiment").text("id", submit.id.value).any("definition", definition);
  read_spec(fields, submit.spec, environment);
  LATHE_TRY_VOID(fields.finish());
  if (environment) LATHE_TRY_VOID(take_environment(*environment, submit));
  if (definition) LATHE_TRY_VOID(take_definition(*definition, body, submit));
  LATHE_TRY_VOID(model::check_run_id(submit.id.value));
  LATHE_TRY_VOID(model::validate_spec(submit.spec));
  return submit;
}

std::string encode_run_submit(const RunSubmit& submit) {
  json::object out = spec_json(submit.spec);
  out["id"] = submit.id.value;
  if (!submit.environment_definition.empty())
    out["environment"].as_object()["definition"] = json::parse(submit.environment_definition);
  if (submit.definition.empty()) return json::serialize(out);
  return with_raw_member(json::serialize(out), "definition", submit.definition);
}

std::string encode_spec(const RunSpec& spec) { return json::serialize(spec_json(spec)); }

base::Result<RunSpec> decode_spec(std::string_view text) {
  LATHE_TRY(json::value value, parse_json(text));
  RunSpec spec;
  Fields fields(value, Unknown::pass);
  fields.need("experiment");
  const json::value* environment = nullptr;
  read_spec(fields, spec, environment);
  LATHE_TRY_VOID(fields.finish());
  if (environment && environment->is_string()) {
    LATHE_TRY(spec.environment.definition, base::Digest::parse(std::string_view(environment->get_string())));
  }
  return spec;
}

base::Digest spec_digest(const RunSpec& spec) { return base::sha256(encode_spec(spec)); }

json::object attempt_json(const model::AttemptRecord& attempt) {
  json::array nodes;
  for (const auto& slice : attempt.slices) nodes.emplace_back(slice.node_name);
  json::object out{{"number", attempt.number},
                   {"nodes", std::move(nodes)},
                   {"placed", base::format_utc(attempt.placed)},
                   {"claimed", time_json(attempt.claimed)},
                   {"ended", time_json(attempt.ended)},
                   {"stop_asked", model::end_reason_name(attempt.stop_reason)}};
  const bool over = attempt.ended.has_value();
  out["reason"] = over ? json::value(model::end_reason_name(attempt.exit.reason)) : json::value(nullptr);
  out["exit_code"] = over && attempt.exit.reason == model::EndReason::exited ? json::value(attempt.exit.exit_code)
                                                                             : json::value(nullptr);
  out["signal"] = over && attempt.exit.signal != 0 ? json::value(attempt.exit.signal) : json::value(nullptr);
  out["message"] = attempt.exit.message;
  if (attempt.exit.unkillable > 0) out["unkillable"] = attempt.exit.unkillable;
  return out;
}

namespace {

json::value error_json(const model::RunError& error) {
  json::object out{{"code", error.code}, {"message", error.message}};
  if (!error.details.empty()) out["details"] = error.details;
  return out;
}

// Where the run stands among others, and what its client calls it.
void add_kin(json::object& out, const model::RunRecord& run) {
  auto id_or_null = [](const model::RunId& id) {
    return id.value.empty() ? json::value(nullptr) : json::value(id.value);
  };
  out["kind"] = model::kind_name(run.spec.kind);
  out["parent"] = id_or_null(run.spec.parent);
  out["root"] = id_or_null(run.root);
  out["run_type"] = run.spec.run_type;
  out["children_count"] = run.children_count;
}

void show_environment(json::object& out, const BuiltEnvironment& built) {
  auto& environment = out["environment"].as_object();
  if (!built.name.empty()) environment["name"] = built.name;
  if (!built.version.empty()) environment["version"] = built.version;
  environment["lock"] = built.lock ? json::value(built.lock->hex()) : json::value(nullptr);
  environment["build"] = built.build ? json::value(*built.build) : json::value(nullptr);
  environment["substitutions"] = json::parse(built.substitutions_json);
}

}  // namespace

json::object run_json(const RunView& view) {
  const model::RunRecord& run = view.run;
  json::object out = spec_json(run.spec);
  add_kin(out, run);
  if (view.inputs) show_resolved(out, *view.inputs);
  if (view.environment) show_environment(out, *view.environment);
  out["id"] = run.id.value;
  out["workspace"] = run.workspace;
  out["sequence"] = run.sequence;
  out["status"] = model::state_name(run.state);
  out["generation"] = run.generation;
  out["attempt"] = run.attempt;
  out["created"] = base::format_utc(run.created);
  out["started"] = time_json(run.started);
  out["ended"] = time_json(run.ended);
  out["error"] = run.error ? error_json(*run.error) : json::value(nullptr);
  out["notes"] = texts_json(run.notes);
  out["usage"] = usage_json(run.usage);
  out["waiting"] =
      view.waiting ? json::value{{"reason", view.waiting->reason}, {"would_start_when", view.waiting->would_start_when}}
                   : json::value(nullptr);
  out["archived"] = run.archived;
  out["submitted_by"] = run.submitted_by;
  json::array attempts;
  for (const auto& attempt : view.attempts) attempts.push_back(attempt_json(attempt));
  out["attempts"] = std::move(attempts);
  out["log"] = main_log_name(run.spec.node_count);
  return out;
}

std::string encode_run(const RunView& view, std::string_view definition) {
  return with_raw_member(json::serialize(run_json(view)), "definition", definition.empty() ? "null" : definition);
}

std::string main_log_name(int node_count, int node) {
  return node_count == 1 ? "azureml-logs/70_driver_log.txt" : fmt::format("azureml-logs/70_driver_log_{}.txt", node);
}

}  // namespace lathe::wire

#include "db/columns.h"

#include <boost/json.hpp>

#include "base/error.h"
#include "wire/run_data.h"

namespace lathe::db::columns {

namespace json = boost::json;

namespace {

[[noreturn]] void unreadable(std::string_view what) {
  throw base::Error(base::Code::corrupt, fmt::format("database: a column holds an unreadable {}", what))
      .hint("check the database and restore a backup: lathe restore");
}

// Calls `read` with the parsed text; whatever it finds missing, of another type or wrong is corruption: it was checked
// before it was stored, so it is nobody's mistake.
template <class F>
auto decode(std::string_view text, std::string_view what, F read) {
  try {
    return read(json::parse({text.data(), text.size()}));
  } catch (const std::exception&) {  // base::Error is one
    unreadable(what);
  }
}

std::string plain(const json::value& value) { return {value.as_string().data(), value.as_string().size()}; }
std::string text_at(const json::object& object, const char* key) { return plain(object.at(key)); }

std::int64_t integer_at(const json::object& object, const char* key) {
  return object.at(key).to_number<std::int64_t>();
}

json::array to_array(const std::vector<std::string>& values) { return json::array(values.begin(), values.end()); }

std::vector<std::string> to_strings(const json::value& value) {
  std::vector<std::string> strings;
  for (const json::value& item : value.as_array()) strings.push_back(plain(item));
  return strings;
}

json::object to_object(const std::map<std::string, std::string>& values) {
  json::object object;
  for (const auto& [key, value] : values) object.emplace(key, value);
  return object;
}

std::map<std::string, std::string> to_map(const json::value& value) {
  std::map<std::string, std::string> map;
  for (const auto& [key, item] : value.as_object()) map.emplace(std::string(key), plain(item));
  return map;
}

json::object usage_object(const model::Usage& usage) {
  return {{"cpu_seconds", usage.cpu_seconds},
          {"peak_memory_bytes", usage.peak_memory_bytes},
          {"peak_gpu_memory_bytes", usage.peak_gpu_memory_bytes},
          {"gpu_seconds", usage.gpu_seconds}};
}

model::Usage to_usage(const json::value& value) {
  const json::object& object = value.as_object();
  return {.cpu_seconds = object.at("cpu_seconds").to_number<double>(),
          .peak_memory_bytes = integer_at(object, "peak_memory_bytes"),
          .peak_gpu_memory_bytes = integer_at(object, "peak_gpu_memory_bytes"),
          .gpu_seconds = object.at("gpu_seconds").to_number<double>()};
}

json::object slice_object(const model::Slice& slice) {
  return {{"node", slice.node},
          {"node_name", slice.node_name},
          {"millicores", slice.millicores},
          {"memory_bytes", slice.memory_bytes},
          {"gpus", to_array(slice.gpus)}};
}

model::Slice to_slice(const json::value& value) {
  const json::object& object = value.as_object();
  return {.node = static_cast<int>(integer_at(object, "node")),
          .node_name = text_at(object, "node_name"),
          .millicores = integer_at(object, "millicores"),
          .memory_bytes = integer_at(object, "memory_bytes"),
          .gpus = to_strings(object.at("gpus"))};
}

json::object to_object(const model::Tags& tags) {
  json::object object;
  for (const auto& [key, value] : tags) object.emplace(key, value ? json::value(*value) : json::value(nullptr));
  return object;
}

model::Tags to_tags(const json::value& value) {
  model::Tags tags;
  for (const auto& [key, item] : value.as_object())
    tags.emplace(std::string(key), item.is_null() ? std::nullopt : std::optional(plain(item)));
  return tags;
}

// Fields of later versions; each is left out while it has its old meaning.
void add_later_fields(json::object& object, const model::RunSpec& spec) {
  auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) object[key] = text;
  };
  if (spec.kind != model::RunKind::script) object["kind"] = model::kind_name(spec.kind);
  add("parent", spec.parent.value);
  add("run_type", spec.run_type);
  add("environment_name", spec.environment.name);
  add("environment_version", spec.environment.version);
  if (spec.environment.definition) object["environment_definition"] = spec.environment.definition->hex();
  if (spec.definition) object["definition"] = spec.definition->hex();
  wire::add_run_data(object, spec.inputs, spec.outputs);
}

void read_later_fields(const json::object& object, model::RunSpec& spec) {
  auto read = [&](const char* key, std::string& text) {
    if (object.contains(key)) text = text_at(object, key);
  };
  std::string kind(model::kind_name(spec.kind)), definition, environment_definition;
  read("kind", kind);
  spec.kind = model::kind_from_name(kind).value();
  read("parent", spec.parent.value);
  read("run_type", spec.run_type);
  read("environment_name", spec.environment.name);
  read("environment_version", spec.environment.version);
  read("environment_definition", environment_definition);
  if (!environment_definition.empty())
    spec.environment.definition = base::value_or_throw(base::Digest::parse(environment_definition));
  read("definition", definition);
  if (!definition.empty()) spec.definition = base::value_or_throw(base::Digest::parse(definition));
  if (!object.contains("inputs") && !object.contains("outputs")) return;
  const json::value whole(object);
  wire::Fields fields(whole, wire::Unknown::pass);
  wire::read_run_data(fields, spec.inputs, spec.outputs);
  base::value_or_throw(fields.finish());
}

model::RunSpec to_spec(const json::value& value) {
  const json::object& object = value.as_object();
  model::RunSpec spec;
  spec.experiment = text_at(object, "experiment");
  spec.display_name = text_at(object, "display_name");
  spec.command = {.script = text_at(object, "script"),
                  .command = to_strings(object.at("command")),
                  .arguments = to_strings(object.at("arguments"))};
  spec.environment = {.interpreter = text_at(object, "interpreter"), .variables = to_map(object.at("variables"))};
  if (const json::value& snapshot = object.at("snapshot"); !snapshot.is_null()) {
    spec.snapshot = base::value_or_throw(base::Digest::parse(plain(snapshot)));
  }
  spec.compute = text_at(object, "compute");
  spec.node_count = static_cast<int>(integer_at(object, "node_count"));
  spec.priority = static_cast<int>(integer_at(object, "priority"));
  spec.max_run_duration_seconds = integer_at(object, "max_run_duration_seconds");
  spec.grace_seconds = integer_at(object, "grace_seconds");
  spec.retries = {.infrastructure = static_cast<int>(integer_at(object, "infrastructure_retries")),
                  .user = static_cast<int>(integer_at(object, "user_retries"))};
  spec.tags = to_tags(object.at("tags"));
  spec.properties = to_map(object.at("properties"));
  read_later_fields(object, spec);
  return spec;
}

}  // namespace

std::string encode_spec(const model::RunSpec& spec) {
  json::object object{
      {"experiment", spec.experiment},
      {"display_name", spec.display_name},
      {"script", spec.command.script},
      {"command", to_array(spec.command.command)},
      {"arguments", to_array(spec.command.arguments)},
      {"interpreter", spec.environment.interpreter},
      {"variables", to_object(spec.environment.variables)},
      {"snapshot", spec.snapshot ? json::value(spec.snapshot->hex()) : json::value(nullptr)},
      {"compute", spec.compute},
      {"node_count", spec.node_count},
      {"priority", spec.priority},
      {"max_run_duration_seconds", spec.max_run_duration_seconds},
      {"grace_seconds", spec.grace_seconds},
      {"infrastructure_retries", spec.retries.infrastructure},
      {"user_retries", spec.retries.user},
      {"tags", to_object(spec.tags)},
      {"properties", to_object(spec.properties)},
  };
  add_later_fields(object, spec);
  return json::serialize(object);
}

model::RunSpec decode_spec(std::string_view text) { return decode(text, "run specification", to_spec); }

std::string encode_slices(const std::vector<model::Slice>& slices) {
  json::array array;
  for (const model::Slice& slice : slices) array.push_back(slice_object(slice));
  return json::serialize(array);
}

std::vector<model::Slice> decode_slices(std::string_view text) {
  return decode(text, "list of node slices", [](const json::value& value) {
    std::vector<model::Slice> slices;
    for (const json::value& item : value.as_array()) slices.push_back(to_slice(item));
    return slices;
  });
}

std::string encode_exit(const model::ExitRecord& exit) {
  json::object object{{"reason", model::end_reason_name(exit.reason)},
                      {"exit_code", exit.exit_code},
                      {"signal", exit.signal},
                      {"message", exit.message},
                      {"usage", usage_object(exit.usage)},
                      {"started", exit.started.micros},
                      {"ended", exit.ended.micros}};
  if (exit.unkillable > 0) object["unkillable"] = exit.unkillable;  // absent in rows of 0.1
  return json::serialize(object);
}

model::ExitRecord decode_exit(std::string_view text) {
  return decode(text, "exit record", [](const json::value& value) {
    const json::object& object = value.as_object();
    return model::ExitRecord{.reason = decode_end_reason(text_at(object, "reason")),
                             .exit_code = static_cast<int>(integer_at(object, "exit_code")),
                             .signal = static_cast<int>(integer_at(object, "signal")),
                             .message = text_at(object, "message"),
                             .usage = to_usage(object.at("usage")),
                             .started = {integer_at(object, "started")},
                             .ended = {integer_at(object, "ended")},
                             .unkillable = object.contains("unkillable")
                                               ? static_cast<int>(integer_at(object, "unkillable"))
                                               : 0};
  });
}

std::string encode_usage(const model::Usage& usage) { return json::serialize(usage_object(usage)); }
model::Usage decode_usage(std::string_view text) { return decode(text, "resource use", to_usage); }

std::string encode_notes(const std::vector<std::string>& notes) { return json::serialize(to_array(notes)); }
std::vector<std::string> decode_notes(std::string_view text) { return decode(text, "list of notes", to_strings); }

model::RunState decode_state(std::string_view word) {
  if (const auto state = model::state_from_name(word)) return *state;
  unreadable("run state");
}

model::EndReason decode_end_reason(std::string_view word) {
  if (const auto reason = model::end_reason_from_name(word)) return *reason;
  unreadable("end reason");
}

}  // namespace lathe::db::columns

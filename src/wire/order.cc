#include "wire/order.h"

#include <boost/json.hpp>

#include "wire/json.h"
#include "wire/records.h"

namespace lathe::wire {
namespace {

namespace json = boost::json;

json::array texts_json(const std::vector<std::string>& texts) { return json::array(texts.begin(), texts.end()); }

json::object realise_json(const RealiseOrder& order) {
  return {{"cache", order.cache},
          {"uv", order.uv},
          {"index", order.index},
          {"extra_indexes", texts_json(order.extra_indexes)},
          {"channels", texts_json(order.channels)},
          {"pythons", texts_json(order.pythons)},
          {"wheelhouse", order.wheelhouse},
          {"engine", order.engine},
          {"offline", order.offline},
          {"python_downloads", order.python_downloads},
          {"engine_arguments", order.engine_arguments},
          {"engine_host_arguments", order.engine_host_arguments}};
}

void read_realise(Fields& fields, RealiseOrder& order) {
  fields.text("cache", order.cache)
      .text("uv", order.uv)
      .text("index", order.index)
      .texts("extra_indexes", order.extra_indexes)
      .texts("channels", order.channels)
      .texts("pythons", order.pythons)
      .text("wheelhouse", order.wheelhouse)
      .text("engine", order.engine)
      .boolean("offline", order.offline)
      .boolean("python_downloads", order.python_downloads)
      .boolean("engine_arguments", order.engine_arguments)
      .boolean("engine_host_arguments", order.engine_host_arguments);
}

}  // namespace

std::string encode_order(const RunnerOrder& order) {
  json::object variables;
  for (const auto& [name, value] : order.environment.variables) variables.emplace(name, value);
  json::object out{
      {"run", order.run.value},
      {"attempt", order.attempt},
      {"node", order.node},
      {"node_count", order.node_count},
      {"workspace", order.workspace},
      {"experiment", order.experiment},
      {"subscription_id", order.subscription_id},
      {"resource_group", order.resource_group},
      {"script", order.command.script},
      {"command", texts_json(order.command.command)},
      {"arguments", texts_json(order.command.arguments)},
      {"environment", {{"interpreter", order.environment.interpreter}, {"variables", std::move(variables)}}},
      {"slice", slice_json(order.slice)},
      {"max_run_duration_seconds", order.max_run_duration_seconds},
      {"grace_seconds", order.grace_seconds},
      {"log_name", order.log_name},
      {"segment_bytes", order.segment_bytes},
      {"enforce_memory", order.enforce_memory},
      {"mount_cache_bytes", order.mount_cache_bytes},
      {"mount_cache_folder", order.mount_cache_folder},
      {"mount_read_timeout_seconds", order.mount_read_timeout_seconds}};
  if (order.lock) {
    auto& environment = out["environment"].as_object();
    environment["lock"] = order.lock->hex();
    environment["realise"] = realise_json(order.realise);
  }
  out["snapshot"] = order.snapshot ? json::value(order.snapshot->hex()) : json::value(nullptr);
  out["token_expiry"] = order.token_expiry ? json::value(base::format_utc(*order.token_expiry)) : json::value(nullptr);
  if (!order.inputs.empty()) out["inputs"] = inputs_json(order.inputs);
  if (!order.outputs.empty()) out["outputs"] = outputs_json(order.outputs);
  return json::serialize(out);
}

base::Result<RunnerOrder> decode_order(std::string_view text) {
  LATHE_TRY(json::value value, parse_json(text));
  RunnerOrder order;
  Fields fields(value, Unknown::pass);
  fields.need("run").need("attempt").need("node").need("log_name");
  fields.text("run", order.run.value)
      .integer("attempt", order.attempt)
      .integer("node", order.node)
      .integer("node_count", order.node_count)
      .text("workspace", order.workspace)
      .text("experiment", order.experiment)
      .text("subscription_id", order.subscription_id)
      .text("resource_group", order.resource_group)
      .text("script", order.command.script)
      .texts("command", order.command.command)
      .texts("arguments", order.command.arguments)
      .object("environment",
              [&](Fields& nested) {
                nested.text("interpreter", order.environment.interpreter)
                    .text_map("variables", order.environment.variables)
                    .digest("lock", order.lock)
                    .object("realise", [&](Fields& inner) { read_realise(inner, order.realise); });
              })
      .digest("snapshot", order.snapshot)
      .object("slice", [&](Fields& nested) { read_slice(nested, order.slice); })
      .integer("max_run_duration_seconds", order.max_run_duration_seconds)
      .integer("grace_seconds", order.grace_seconds)
      .text("log_name", order.log_name)
      .integer("segment_bytes", order.segment_bytes)
      .time("token_expiry", order.token_expiry)
      .boolean("enforce_memory", order.enforce_memory)
      .integer("mount_cache_bytes", order.mount_cache_bytes)
      .text("mount_cache_folder", order.mount_cache_folder)
      .integer("mount_read_timeout_seconds", order.mount_read_timeout_seconds);
  read_inputs(fields, order.inputs);
  read_outputs(fields, order.outputs);
  LATHE_TRY_VOID(fields.finish());
  return order;
}

}  // namespace lathe::wire

#include "runner/order.h"

#include <boost/json.hpp>

namespace lathe::runner {
namespace {

namespace json = boost::json;

std::string text_of(const json::value& value) { return std::string(value.as_string()); }

std::string text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && !value->is_null() ? text_of(*value) : std::string();
}

std::int64_t integer(const json::object& object, std::string_view key, std::int64_t otherwise) {
  const json::value* value = object.if_contains(key);
  return value && !value->is_null() ? value->to_number<std::int64_t>() : otherwise;
}

double real(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && !value->is_null() ? value->to_number<double>() : 0;
}

std::vector<std::string> texts(const json::object& object, std::string_view key) {
  std::vector<std::string> out;
  if (const json::value* value = object.if_contains(key); value && !value->is_null())
    for (const auto& item : value->as_array()) out.push_back(text_of(item));
  return out;
}

const json::object& child(const json::object& object, std::string_view key) {
  static const json::object kEmpty;
  const json::value* value = object.if_contains(key);
  return value && !value->is_null() ? value->as_object() : kEmpty;
}

json::array to_array(const std::vector<std::string>& texts) { return json::array(texts.begin(), texts.end()); }

Order read_order(const json::object& object) {
  Order order;
  order.run = text(object, "run");
  order.attempt = static_cast<int>(integer(object, "attempt", 0));
  order.node = static_cast<int>(integer(object, "node", 0));
  order.node_count = static_cast<int>(integer(object, "node_count", 1));
  order.workspace = text(object, "workspace");
  order.experiment = text(object, "experiment");
  order.subscription_id = text(object, "subscription_id");
  order.resource_group = text(object, "resource_group");
  order.command = {text(object, "script"), texts(object, "command"), texts(object, "arguments")};
  const json::object& environment = child(object, "environment");
  order.environment.interpreter = text(environment, "interpreter");
  for (const auto& [name, value] : child(environment, "variables")) order.environment.variables[std::string(name)] = text_of(value);
  if (auto hex = text(object, "snapshot"); !hex.empty()) order.snapshot = base::value_or_throw(base::Digest::parse(hex));
  const json::object& slice = child(object, "slice");
  order.slice = {static_cast<int>(integer(slice, "node", 0)), text(slice, "node_name"), integer(slice, "millicores", 0),
                 integer(slice, "memory_bytes", 0), texts(slice, "gpus")};
  order.max_run_duration_seconds = integer(object, "max_run_duration_seconds", 0);
  order.grace_seconds = integer(object, "grace_seconds", order.grace_seconds);
  order.log_name = text(object, "log_name");
  order.segment_bytes = static_cast<std::uint64_t>(integer(object, "segment_bytes", static_cast<std::int64_t>(order.segment_bytes)));
  order.token_expiry = text(object, "token_expiry");
  const json::value* enforce = object.if_contains("enforce_memory");
  order.enforce_memory = enforce && enforce->is_bool() && enforce->as_bool();
  return order;
}

model::ExitRecord read_exit(const json::object& object) {
  model::ExitRecord exit;
  auto reason = model::end_reason_from_name(text(object, "reason"));
  if (!reason) throw base::Error(base::Code::corrupt, "unknown reason");
  exit.reason = *reason;
  exit.exit_code = static_cast<int>(integer(object, "exit_code", 0));
  exit.signal = static_cast<int>(integer(object, "signal", 0));
  exit.message = text(object, "message");
  const json::object& usage = child(object, "usage");
  exit.usage = {real(usage, "cpu_seconds"), integer(usage, "peak_memory_bytes", 0),
                integer(usage, "peak_gpu_memory_bytes", 0), real(usage, "gpu_seconds")};
  exit.started = base::parse_utc(text(object, "started")).value_or(base::UtcTime{});
  exit.ended = base::parse_utc(text(object, "ended")).value_or(base::UtcTime{});
  return exit;
}

// Boost.JSON throws on a wrong type or number; here is where that becomes one of our errors.
template <class Read>
auto parse_with(std::string_view text, std::string_view what, Read read) -> base::Result<decltype(read(json::object{}))> {
  try {
    return read(json::parse(text).as_object());
  } catch (const base::Error& error) {
    return base::fail(base::Code::corrupt, "the {} is damaged: {}", what, error.message());
  } catch (const std::exception& error) {
    return base::fail(base::Code::corrupt, "the {} is damaged: {}", what, error.what());
  }
}

}  // namespace

base::Result<Order> parse_order(std::string_view text) { return parse_with(text, "order", read_order); }
base::Result<model::ExitRecord> parse_exit(std::string_view text) { return parse_with(text, "exit record", read_exit); }

std::string format_order(const Order& order) {
  json::object variables;
  for (const auto& [name, value] : order.environment.variables) variables[name] = value;
  json::object object{
      {"run", order.run}, {"attempt", order.attempt}, {"node", order.node}, {"node_count", order.node_count},
      {"workspace", order.workspace}, {"experiment", order.experiment},
      {"subscription_id", order.subscription_id}, {"resource_group", order.resource_group},
      {"arguments", to_array(order.command.arguments)},
      {"environment", json::object{{"interpreter", order.environment.interpreter}, {"variables", std::move(variables)}}},
      {"slice", json::object{{"node", order.slice.node}, {"node_name", order.slice.node_name},
                             {"millicores", order.slice.millicores}, {"memory_bytes", order.slice.memory_bytes},
                             {"gpus", to_array(order.slice.gpus)}}},
      {"max_run_duration_seconds", order.max_run_duration_seconds}, {"grace_seconds", order.grace_seconds},
      {"log_name", order.log_name}, {"segment_bytes", order.segment_bytes},
      {"token_expiry", order.token_expiry}, {"enforce_memory", order.enforce_memory}};
  if (order.command.script.empty()) object["command"] = to_array(order.command.command);
  else object["script"] = order.command.script;
  if (order.snapshot) object["snapshot"] = order.snapshot->hex();
  return json::serialize(object);
}

std::string format_exit(const model::ExitRecord& exit) {
  return json::serialize(json::object{
      {"reason", std::string(model::end_reason_name(exit.reason))}, {"exit_code", exit.exit_code}, {"signal", exit.signal},
      {"message", exit.message},
      {"usage", json::object{{"cpu_seconds", exit.usage.cpu_seconds}, {"peak_memory_bytes", exit.usage.peak_memory_bytes},
                             {"peak_gpu_memory_bytes", exit.usage.peak_gpu_memory_bytes}, {"gpu_seconds", exit.usage.gpu_seconds}}},
      {"started", base::format_utc(exit.started)}, {"ended", base::format_utc(exit.ended)}});
}

}  // namespace lathe::runner

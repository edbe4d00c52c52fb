#include "wire/records.h"

#include <boost/json.hpp>

#include "wire/json.h"

namespace lathe::wire {
namespace {

namespace json = boost::json;

template <class T>
base::Result<T> decode(std::string_view text, void (*read)(Fields&, T&)) {
  LATHE_TRY(json::value value, parse_json(text));
  T out;
  Fields fields(value, Unknown::pass);
  read(fields, out);
  LATHE_TRY_VOID(fields.finish());
  return out;
}

json::value time_json(base::UtcTime time) {
  return time.micros == 0 ? json::value(nullptr) : json::value(base::format_utc(time));
}

}  // namespace

json::object usage_json(const model::Usage& usage) {
  return {{"cpu_seconds", usage.cpu_seconds},
          {"peak_memory_bytes", usage.peak_memory_bytes},
          {"peak_gpu_memory_bytes", usage.peak_gpu_memory_bytes},
          {"gpu_seconds", usage.gpu_seconds}};
}

void read_usage(Fields& fields, model::Usage& usage) {
  fields.number("cpu_seconds", usage.cpu_seconds)
      .integer("peak_memory_bytes", usage.peak_memory_bytes)
      .integer("peak_gpu_memory_bytes", usage.peak_gpu_memory_bytes)
      .number("gpu_seconds", usage.gpu_seconds);
}

json::object exit_json(const model::ExitRecord& exit) {
  json::object object{{"reason", model::end_reason_name(exit.reason)},
                      {"exit_code", exit.exit_code},
                      {"signal", exit.signal},
                      {"message", exit.message},
                      {"usage", usage_json(exit.usage)},
                      {"started", time_json(exit.started)},
                      {"ended", time_json(exit.ended)}};
  // Left out while there are none: a server that is older than this field refuses what it does not know.
  if (exit.unkillable > 0) object["unkillable"] = exit.unkillable;
  return object;
}

void read_exit(Fields& fields, model::ExitRecord& exit) {
  fields.need("reason")
      .word("reason", exit.reason, model::end_reason_from_name,
            "one of exited, signaled, out-of-memory, timed-out, canceled, preempted, node-lost, start-failed, "
            "prepare-failed")
      .integer("exit_code", exit.exit_code)
      .integer("signal", exit.signal)
      .integer("unkillable", exit.unkillable)
      .text("message", exit.message)
      .object("usage", [&](Fields& nested) { read_usage(nested, exit.usage); })
      .time("started", exit.started)
      .time("ended", exit.ended)
      .integer("unkillable", exit.unkillable);
}

json::object slice_json(const model::Slice& slice) {
  return {{"node", slice.node},
          {"node_name", slice.node_name},
          {"millicores", slice.millicores},
          {"memory_bytes", slice.memory_bytes},
          {"gpus", json::array(slice.gpus.begin(), slice.gpus.end())}};
}

void read_slice(Fields& fields, model::Slice& slice) {
  fields.integer("node", slice.node)
      .text("node_name", slice.node_name)
      .integer("millicores", slice.millicores)
      .integer("memory_bytes", slice.memory_bytes)
      .texts("gpus", slice.gpus);
}

std::string encode_exit(const model::ExitRecord& exit) { return json::serialize(exit_json(exit)); }
base::Result<model::ExitRecord> decode_exit(std::string_view text) {
  return decode<model::ExitRecord>(text, read_exit);
}

}  // namespace lathe::wire

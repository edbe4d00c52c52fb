#include "wire/metric.h"

#include <boost/json.hpp>

#include "base/strings.h"
#include "wire/json.h"

namespace lathe::wire {
namespace {

namespace json = boost::json;
using base::Code;

constexpr std::size_t kMaxKind = 64, kMaxDescription = 64 * 1024, kMaxGapReason = 200;

bool is_text(const json::value& value, std::size_t least, std::size_t most) {
  return value.is_string() && value.get_string().size() >= least && value.get_string().size() <= most;
}

std::unexpected<base::Error> wrong(std::string_view field, std::string_view expected) {
  return base::fail(Code::invalid, "{} must be {}", field, expected);
}

base::Result<void> check_field(std::string_view key, const json::value& value) {
  if (key == "name") {
    if (!is_text(value, 1, kMaxMetricName)) return wrong(key, "a string of 1 to 255 bytes");
  } else if (key == "kind") {
    if (!is_text(value, 1, kMaxKind)) return wrong(key, "a string of 1 to 64 bytes");
  } else if (key == "time") {
    if (!value.is_number()) return wrong(key, "a number of seconds");
  } else if (key == "step") {
    if (!value.is_int64() && !value.is_null()) return wrong(key, "a whole number");
  } else if (key == "description") {
    if (!value.is_null() && !is_text(value, 0, kMaxDescription)) return wrong(key, "a string of at most 64 KiB");
  } else if (key != "value") {
    return base::fail(Code::invalid, "the field '{}' is not known", base::printable(key, 80));
  }
  return {};
}

}  // namespace

base::Result<std::string> check_metric(std::string_view line) {
  if (line.size() > kMaxMetricLine)
    return base::fail(Code::invalid, "a record of {} bytes; at most {} are allowed", line.size(), kMaxMetricLine);
  auto parsed = parse_json(line, kMaxMetricLine);
  if (!parsed) return base::fail(std::move(parsed).error());
  if (!parsed->is_object()) return base::fail(Code::invalid, "a record must be an object");
  const json::object& record = parsed->get_object();
  for (const auto& field : record) LATHE_TRY_VOID(check_field({field.key().data(), field.key().size()}, field.value()));
  for (const char* needed : {"name", "kind", "value", "time"})
    if (!record.contains(needed)) return base::fail(Code::invalid, "{} is missing", needed);
  return std::string(record.at("name").get_string());
}

std::optional<MetricGap> read_gap(std::string_view line) {
  boost::system::error_code failed;
  const json::value record = json::parse(line, failed);
  const json::object* fields = failed ? nullptr : record.if_object();
  const json::value* kind = fields ? fields->if_contains("kind") : nullptr;
  const json::value* value = fields ? fields->if_contains("value") : nullptr;
  if (!kind || *kind != "gap" || !value || !value->is_object()) return std::nullopt;
  const json::value* records = value->get_object().if_contains("records");
  const json::value* error = value->get_object().if_contains("error");
  if (!records || !records->is_int64() || records->get_int64() <= 0) return std::nullopt;
  const bool has_reason = error && error->is_string();
  return MetricGap{records->get_int64(), has_reason ? base::printable(error->get_string(), kMaxGapReason) : ""};
}

std::string metric_name(std::string_view line) {
  boost::system::error_code failed;
  const json::value record = json::parse(line, failed);
  const json::value* name = !failed && record.is_object() ? record.get_object().if_contains("name") : nullptr;
  return name && name->is_string() ? std::string(name->get_string()) : std::string();
}

}  // namespace lathe::wire

#include "envs/marker.h"

#include <boost/json.hpp>

#include "sys/file_system.h"
#include "sys/small_file.h"

namespace lathe::envs {

namespace json = boost::json;

base::Result<void> write_marker(const std::filesystem::path& prefix, const Marker& marker) {
  json::object variables;
  for (const auto& [name, value] : marker.variables) variables[name] = value;
  json::object object{{"format", 1},           {"lock", marker.lock.hex()}, {"variables", std::move(variables)},
                      {"files", marker.files}, {"bytes", marker.bytes},     {"interpreter", marker.interpreter},
                      {"image", marker.image}};
  if (!marker.arguments.empty()) object["arguments"] = json::array(marker.arguments.begin(), marker.arguments.end());
  return sys::write_file_durably(sys::linux_file_system(), (prefix / kMarkerName).string(),
                                 json::serialize(object) + "\n", 0444);
}

std::optional<Marker> read_marker(const std::filesystem::path& prefix) {
  auto text = sys::read_small_file(prefix / kMarkerName);
  boost::system::error_code problem;
  json::value root = text ? json::parse(*text, problem) : json::value();
  if (problem || !root.is_object()) return std::nullopt;
  const json::object& object = root.get_object();
  const json::value *lock = object.if_contains("lock"), *variables = object.if_contains("variables"),
                    *files = object.if_contains("files"), *bytes = object.if_contains("bytes");
  if (!lock || !lock->is_string() || !variables || !variables->is_object() || !files || !bytes) return std::nullopt;
  auto digest = base::Digest::parse(std::string_view(lock->get_string()));
  if (!digest || !files->is_number() || !bytes->is_number()) return std::nullopt;
  Marker out{*digest, {}, files->to_number<std::uint64_t>(problem), bytes->to_number<std::uint64_t>(problem), {}, {}};
  for (const auto& [name, value] : variables->get_object())
    if (value.is_string()) out.variables.emplace(name, value.get_string());
  auto word_of = [&](const char* key) {
    const json::value* value = object.if_contains(key);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  out.interpreter = word_of("interpreter");
  out.image = word_of("image");
  if (const json::value* list = object.if_contains("arguments"); list && list->is_array())
    for (const auto& one : list->get_array())
      if (one.is_string()) out.arguments.emplace_back(one.get_string());
  return out;
}

}  // namespace lathe::envs

#include "server/registry_tools.h"

#include "base/strings.h"
#include "model/names.h"

namespace lathe::server {

using base::Code;
using base::Error;
namespace json = boost::json;

namespace {

constexpr std::size_t kMaxFreeBytes = 1u << 20;

const json::value* find(const json::value& body, std::string_view key) {
  const auto* object = body.if_object();
  const auto* value = object ? object->if_contains(key) : nullptr;
  return value && !value->is_null() ? value : nullptr;
}

}  // namespace

void check(base::Result<void> result) { base::value_or_throw(std::move(result)); }

json::value stored_json(const std::string& text) { return base::value_or_throw(wire::parse_json(text, 16u << 20)); }

std::map<std::string, std::string> stored_map(const std::string& text) {
  std::map<std::string, std::string> map;
  const auto value = stored_json(text);
  for (const auto& pair : value.as_object())
    map.emplace(std::string(pair.key()), std::string(std::string_view(pair.value().as_string())));
  return map;
}

std::string map_json(const std::map<std::string, std::string>& map) {
  json::object object;
  for (const auto& [key, value] : map) object[key] = value;
  return json::serialize(object);
}

json::object free_object(wire::Fields& fields, const json::value& body, std::string_view key) {
  fields.ignore(key);
  const auto* value = find(body, key);
  if (!value) return {};
  if (!value->is_object()) throw Error(Code::invalid, fmt::format("{} must be an object", key)).field(std::string(key));
  if (json::serialize(*value).size() > kMaxFreeBytes)
    throw Error(Code::too_large, fmt::format("{} has more than 1 MiB of JSON", key)).field(std::string(key));
  return value->get_object();
}

void patch_tags(wire::Fields& fields, const json::value& body, std::map<std::string, std::string>& tags) {
  fields.ignore("tags");
  const auto* changes = find(body, "tags");
  if (!changes) return;
  if (!changes->is_object() || changes->get_object().empty())
    throw Error(Code::invalid, "tags must be an object of at least one tag")
        .field("tags")
        .hint(R"(e.g. {"stage": "final", "old": null})");
  for (const auto& pair : changes->get_object()) {
    std::string key(pair.key());
    if (!pair.value().is_string() && !pair.value().is_null())
      throw Error(Code::invalid, "a tag's value must be a string, or null to remove it").field("tags");
    std::string value(pair.value().is_string() ? std::string_view(pair.value().get_string()) : std::string_view());
    check(model::check_tag("tags", key, value));
    if (pair.value().is_null())
      tags.erase(key);
    else
      tags[key] = value;
  }
  check(model::check_pairs("tags", tags, model::kMaxTags));
}

std::string uuid_of(std::string_view bytes) {
  std::string hex = base::sha256(bytes).hex().substr(0, 32);
  hex[12] = '8';  // a version that RFC 9562 leaves to whoever makes it
  hex[16] = "89ab"[(hex[16] >= 'a' ? hex[16] - 'a' + 10 : hex[16] - '0') & 3];
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4),
                     hex.substr(20));
}

void check_uuid(std::string_view field, std::string_view text) {
  bool good = text.size() == 36;
  for (std::size_t i = 0; good && i < text.size(); ++i) {
    bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    good = is_dash ? text[i] == '-' : (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
  }
  if (good) return;
  throw Error(Code::invalid, fmt::format("{} '{}' is not a UUID", field, base::printable(text, 60)))
      .field(std::string(field))
      .hint("use the form 6f1b1c2e-0d5a-4c3e-9a54-2f7be2c9d001 in lower case");
}

std::int64_t parse_version(const std::string& text) {
  if (text == "latest") return 0;
  auto number = base::parse_u64(text);
  if (number && *number >= 1 && *number <= 999'999'999 && text[0] != '0') return static_cast<std::int64_t>(*number);
  throw Error(Code::invalid, fmt::format("version must be a number or 'latest', not '{}'", base::printable(text, 40)))
      .field("version");
}

}  // namespace lathe::server

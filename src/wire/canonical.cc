#include "wire/canonical.h"

#include <algorithm>
#include <boost/json.hpp>
#include <vector>

namespace lathe::wire {
namespace {

namespace json = boost::json;

json::value sorted(const json::value& value) {
  if (const auto* array = value.if_array()) {
    json::array out;
    for (const auto& item : *array) out.push_back(sorted(item));
    return out;
  }
  const auto* object = value.if_object();
  if (!object) return value;
  std::vector<const json::key_value_pair*> pairs;
  for (const auto& pair : *object) pairs.push_back(&pair);
  std::ranges::sort(pairs, {}, [](const auto* pair) { return pair->key(); });
  json::object out;
  for (const auto* pair : pairs) out.emplace(pair->key(), sorted(pair->value()));
  return out;
}

}  // namespace

std::string canonical_json(const json::value& value) { return json::serialize(sorted(value)); }

std::string canonical_environment(json::object definition) {
  definition.erase("name");
  definition.erase("version");
  return canonical_json(definition);
}

}  // namespace lathe::wire

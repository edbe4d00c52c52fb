#include "wire/box_rules.h"

#include <boost/json.hpp>

#include "wire/json.h"

namespace lathe::wire {

namespace json = boost::json;

std::string encode_box_rules(const BoxRules& rules) {
  auto texts = [](const std::vector<std::string>& list) { return json::array(list.begin(), list.end()); };
  return json::serialize(json::object{{"hidden", texts(rules.hidden)},
                                      {"shown", texts(rules.shown)},
                                      {"run_as", rules.run_as},
                                      {"variables", texts(rules.variables)},
                                      {"processes", rules.processes}});
}

base::Result<BoxRules> decode_box_rules(std::string_view text) {
  LATHE_TRY(json::value value, parse_json(text));
  BoxRules rules;
  Fields fields(value, Unknown::pass);
  fields.texts("hidden", rules.hidden)
      .texts("shown", rules.shown)
      .text("run_as", rules.run_as)
      .texts("variables", rules.variables)
      .integer("processes", rules.processes);
  LATHE_TRY_VOID(fields.finish());
  return rules;
}

}  // namespace lathe::wire

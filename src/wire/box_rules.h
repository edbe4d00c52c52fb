// What whoever starts a runner tells it about the box of its run, before there is an order: the box is made while the
// claim travels. In the runner's environment, as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lathe::wire {

inline constexpr const char* kBoxVariable = "LATHE_BOX";

struct BoxRules {
  std::vector<std::string> hidden;     // folders of which a run sees nothing
  std::vector<std::string> shown;      // folders that it sees all the same, read-only
  std::string run_as = "slot";         // for a runner of root: slot, server, or "user NAME"
  std::vector<std::string> variables;  // names beyond the list that every run gets; NAME* is all that begin so
  std::int64_t processes = 0;          // most at once; 0: no limit of ours
  bool operator==(const BoxRules&) const = default;
};

std::string encode_box_rules(const BoxRules& rules);
base::Result<BoxRules> decode_box_rules(std::string_view text);

}  // namespace lathe::wire

// Compute targets in JSON: the body that makes one, and the target as the API shows it.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/compute.h"

namespace lathe::wire {

// PUT …/computes/{name}: the names come from the path. Strict; what comes back passed validate_compute.
base::Result<model::ComputeTarget> parse_compute(std::string_view body, std::string_view workspace,
                                                 std::string_view name);

// How many nodes of a target there are, by what they do.
struct NodeCounts {
  int idle = 0;
  int running = 0;
  int leaving = 0;  // a preemption or cancel is under way
  int current = 0;
  int target = 0;  // what the queue calls for, within min and max
};

// A node that nobody is given: processes of a run that is over live on it and cannot be killed.
struct HeldNode {
  std::string node, run;
};

struct ComputeView {
  const model::ComputeTarget& target;
  const model::FittedSize& fitted;
  NodeCounts nodes;
  std::int64_t queue = 0;  // waiting runs
  std::vector<HeldNode> held = {};
};

boost::json::object compute_json(const ComputeView& view);

}  // namespace lathe::wire

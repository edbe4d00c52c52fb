// The values the scheduler speaks in. Times are monotonic; whoever calls says what now is.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "model/compute.h"
#include "model/run.h"

namespace lathe::sched {

using Time = base::SteadyTime;
using RunNumber = std::int64_t;  // RunRecord::sequence: the order of submission

// An amount of a machine; GPUs are counted here and handed out by id when a run is placed.
struct Resources {
  std::int64_t millicores = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t gpus = 0;

  bool operator==(const Resources&) const = default;
  Resources& operator+=(const Resources& other);
  Resources& operator-=(const Resources& other);
  friend Resources operator*(const Resources& one, std::int64_t count) {
    return {one.millicores * count, one.memory_bytes * count, one.gpus * count};
  }
  // Whether this much is there when `available` is there.
  bool fits_in(const Resources& available) const;
};
Resources total_of(const model::Machine& machine);
Resources total_of(const model::NodeSize& node);

struct ComputeId {
  std::string workspace, name;
  auto operator<=>(const ComputeId&) const = default;
};

struct Compute {
  ComputeId id;
  model::NodeSize node;  // as fitted to this machine
  int min_nodes = 0;
  int max_nodes = 1;
  base::Duration idle{};
  model::VmPriority priority = model::VmPriority::dedicated;
};
Compute make_compute(const model::ComputeTarget& target, const model::NodeSize& fitted);

// What a run of so many nodes takes. Where the machine has fewer GPUs than a gang would need, each of its nodes gets
// its equal part, possibly none.
Resources need_of(const Compute& compute, int node_count, const model::Machine& machine);

// A run that wants nodes.
struct Request {
  RunNumber number = 0;
  model::RunId run;
  ComputeId compute;
  int node_count = 1;
  int priority = 0;
  base::Duration longest{};  // it is over at the latest this long after its start: limit and grace together
};
Request make_request(const model::RunRecord& run);

struct Placement {
  RunNumber number = 0;
  model::RunId run;
  std::vector<model::Slice> slices;  // one per node, by rank
};

struct Preemption {
  RunNumber victim = 0;
  model::RunId run;
  RunNumber for_run = 0;  // the dedicated run that needs the room
};

struct NodeRef {
  ComputeId compute;
  int index = 0;
  auto operator<=>(const NodeRef&) const = default;
};

struct Plan {
  std::vector<Placement> placements;
  std::vector<Preemption> preemptions;
  std::vector<NodeRef> nodes_up;    // to reach min_nodes
  std::vector<NodeRef> nodes_down;  // idle for long enough
  bool empty() const { return placements.empty() && preemptions.empty() && nodes_up.empty() && nodes_down.empty(); }
};

// Refuses at submit what no waiting would ever let start.
base::Result<void> can_ever_run(const model::RunSpec& spec, const Compute& compute, const model::Machine& machine);

}  // namespace lathe::sched

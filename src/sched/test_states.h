// What the tests of the scheduler share: small machines, targets and runs, and one step of planning.
#pragma once

#include <gtest/gtest.h>

#include "sched/plan.h"

namespace lathe::sched {

using namespace std::chrono_literals;
using model::VmPriority;

inline constexpr std::int64_t kGib = 1LL << 30;
inline const Time kNow{1000s};

inline model::Machine machine(std::int64_t cores, int gpus = 0) {
  model::Machine value{.millicores = cores * 1000, .memory_bytes = cores * kGib, .gpus = {}};
  for (int i = 0; i < gpus; ++i) value.gpus.push_back(fmt::format("GPU-{}", i));
  return value;
}

inline Compute compute(std::string name, int max_nodes, std::int64_t cores = 1,
                       VmPriority priority = VmPriority::dedicated, int gpus = 0) {
  return {.id = {"ws", std::move(name)},
          .node = {"size", cores * 1000, cores * kGib, gpus},
          .min_nodes = 0,
          .max_nodes = max_nodes,
          .idle = 120s,
          .priority = priority};
}

inline Request request(RunNumber number, std::string compute, int nodes = 1, int priority = 0,
                       base::Duration longest = 100s) {
  return {.number = number,
          .run = {fmt::format("r{}", number)},
          .compute = {"ws", std::move(compute)},
          .node_count = nodes,
          .priority = priority,
          .longest = longest};
}

// Plans and applies; the numbers of the runs that were placed, in order.
inline std::vector<RunNumber> step(State& state, Time now = kNow) {
  Plan plan = make_plan(state, now);
  state.apply(plan, now, 10s);
  std::vector<RunNumber> placed;
  for (const auto& placement : plan.placements) placed.push_back(placement.number);
  return placed;
}

using Numbers = std::vector<RunNumber>;

}  // namespace lathe::sched

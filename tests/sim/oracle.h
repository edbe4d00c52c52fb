// When a run could start at the earliest, answered in the plainest way: try every moment at which something changes,
// and count what is held then. The planner is checked against it.
#pragma once

#include <set>
#include <vector>

#include "sched/state.h"

namespace lathe::sim {

struct Held {
  sched::Time from, to;
  const sched::Request* request;
};

inline bool fits_at(const sched::State& state, const std::vector<Held>& held, const sched::Request& wanted,
                    sched::Time at) {
  sched::Resources used = state.need(wanted);
  std::int64_t nodes = wanted.node_count;
  for (const auto& [from, to, request] : held) {
    if (at < from || at >= to) continue;
    used += state.need(*request);
    if (request->compute == wanted.compute) nodes += request->node_count;
  }
  return used.fits_in(sched::total_of(state.machine())) &&
         nodes <= state.find_compute(wanted.compute)->compute.max_nodes;
}

inline sched::Time plain_earliest(const sched::State& state, const std::vector<Held>& held,
                                  const sched::Request& wanted, sched::Time now) {
  std::set<sched::Time> moments{now};
  for (const auto& one : held) moments.insert({std::max(one.to, now), std::max(one.from, now)});
  for (sched::Time start : moments) {
    if (!fits_at(state, held, wanted, start)) continue;
    bool good = true;
    for (auto it = moments.upper_bound(start); good && it != moments.end() && *it < start + wanted.longest; ++it)
      good = fits_at(state, held, wanted, *it);
    if (good) return start;
  }
  return sched::Time::max();
}

// What the running ones hold, each for as long as it may take; one that is overdue can end at any moment, but not now.
inline std::vector<Held> held_by_running(const sched::State& state, const std::set<sched::RunNumber>& victims,
                                         sched::Time now) {
  const sched::Time soonest = now + std::chrono::seconds(1);
  std::vector<Held> held;
  for (const auto& [end, run] : state.ends())
    held.push_back({sched::Time::min(), victims.contains(run) ? soonest : std::max(end, soonest),
                    &state.find_running(run)->request});
  return held;
}

}  // namespace lathe::sim

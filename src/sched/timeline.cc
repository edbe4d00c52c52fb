#include "sched/timeline.h"

namespace lathe::sched {

Resources held_by(const Running& running) {
  Resources held;
  for (const auto& slice : running.slices)
    held += {slice.millicores, slice.memory_bytes, static_cast<std::int64_t>(slice.gpus.size())};
  return held;
}

Timeline::Timeline(const State& state, Time now, const std::set<RunNumber>& victims)
    : state_(state), now_(now), machine_(now, state.free()) {
  for (const auto& [id, compute] : state.computes())
    nodes_.emplace(id, StepFunction<std::int64_t>(now, compute.compute.max_nodes - compute.nodes.taken_count()));
  // One that is overdue or about to be stopped can end at any moment, but not now: what it has is not free yet.
  const Time soonest = now + std::chrono::seconds(1);
  for (RunNumber victim : victims) release(*state.find_running(victim), soonest);
  for (const auto& [end, number] : state.ends())
    if (!victims.contains(number)) release(*state.find_running(number), std::max(end, soonest));
}

void Timeline::release(const Running& running, Time when) {
  machine_.grow(when, held_by(running));
  nodes_.at(running.request.compute).grow(when, static_cast<std::int64_t>(running.slices.size()));
}

Resources Timeline::need(const Request& request) const { return state_.need(request); }

std::optional<Time> Timeline::earliest(const Request& request) const {
  const Resources resources = need(request);
  const StepFunction<std::int64_t>& nodes = nodes_.at(request.compute);
  for (Time at = now_;;) {
    auto room = machine_.earliest(at, resources, request.longest);
    if (!room) return std::nullopt;
    auto both = nodes.earliest(*room, request.node_count, request.longest);
    if (!both || *both == *room) return both;
    at = *both;
  }
}

void Timeline::reserve(const Request& request, Time from) {
  machine_.take(from, from + request.longest, need(request));
  nodes_.at(request.compute).take(from, from + request.longest, request.node_count);
}

}  // namespace lathe::sched

// Timeline: what will be free when, on the machine and in each target, if every running run takes as long as it may.
#pragma once

#include <map>

#include "sched/profile.h"
#include "sched/state.h"

namespace lathe::sched {

// What a run has of the machine.
Resources held_by(const Running& running);

class Timeline {
 public:
  // `victims` are running ones that are about to be asked to stop.
  Timeline(const State& state, Time now, const std::set<RunNumber>& victims);

  // When the run fits at the earliest; nothing when it never does (its target was made smaller).
  std::optional<Time> earliest(const Request& request) const;
  // The run holds its nodes from `from` for as long as it may take.
  void reserve(const Request& request, Time from);

 private:
  Resources need(const Request& request) const;
  void release(const Running& running, Time when);

  const State& state_;
  Time now_;
  StepFunction<Resources> machine_;
  std::map<ComputeId, StepFunction<std::int64_t>> nodes_;
};

}  // namespace lathe::sched

// make_plan: the pure planner. From the state and the time it says which waiting runs start where, which low-priority
// runs must make room, and which nodes start or stop. It changes nothing and makes no ids.
//
// Order: runs on dedicated targets before low-priority ones, then by priority, then by submission. A gang gets all its
// nodes or none. The first run of a target's queue that cannot start is its head: it gets a reservation at the earliest
// time at which it fits if every running one takes as long as it may, and a run behind it starts only where that moves
// no reservation (EASY backfill with a reservation for every target's head). At most kWindow runs of each target are
// looked at behind its head, so that the cost of a plan does not grow with the queue.
//
// A dedicated head that lacks room on the machine, not nodes of its own target, has low-priority runs preempted:
// youngest first, none whose end is not needed, and none at all when even all of them would not be enough.
#pragma once

#include "sched/state.h"

namespace lathe::sched {

inline constexpr int kWindow = 64;

Plan make_plan(const State& state, Time now);

}  // namespace lathe::sched

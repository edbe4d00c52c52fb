// Why a waiting run waits and what would let it start, in words for people.
#pragma once

#include <optional>
#include <string>

#include "sched/state.h"

namespace lathe::sched {

struct Explanation {
  std::string reason;            // "waits for 2 nodes of compute 'gpu' (max 2, 1 busy with run x)"
  std::string would_start_when;  // "when run x ends"
};

// Nothing for a run that does not wait. Cheap: it looks at a bounded part of the queue.
std::optional<Explanation> explain(const State& state, RunNumber run);

}  // namespace lathe::sched

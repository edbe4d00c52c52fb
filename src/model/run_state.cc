#include "model/run_state.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace lathe::model {
namespace {

using enum RunState;

constexpr std::array<std::string_view, kRunStateCount> kNames{
    "NotStarted", "Starting",        "Preparing", "Queued", "Running",
    "Finalizing", "CancelRequested", "Completed", "Failed", "Canceled",
};

constexpr std::size_t index(RunState state) { return static_cast<std::size_t>(state); }

constexpr std::uint16_t any_of(std::initializer_list<RunState> states) {
  std::uint16_t bits = 0;
  for (RunState state : states) bits |= static_cast<std::uint16_t>(1u << index(state));
  return bits;
}

// Rows in the order of the enumeration. A run goes back only from Finalizing to Queued: a declared retry. What a runner
// has claimed always passes Finalizing, so that its logs and outputs are settled before the run ends or starts again.
constexpr std::array<std::uint16_t, kRunStateCount> kLegalMoves{
    /* not_started      */ any_of({starting, cancel_requested}),
    /* starting         */ any_of({preparing, failed, cancel_requested}),
    /* preparing        */ any_of({queued, failed, cancel_requested}),
    /* queued           */ any_of({running, failed, cancel_requested}),
    /* running          */ any_of({finalizing, cancel_requested}),
    /* finalizing       */ any_of({queued, completed, failed, canceled, cancel_requested}),
    /* cancel_requested */ any_of({finalizing, canceled}),
    /* completed        */ any_of({}),
    /* failed           */ any_of({}),
    /* canceled         */ any_of({}),
};

}  // namespace

std::string_view state_name(RunState state) { return kNames[index(state)]; }

std::optional<RunState> state_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<RunState>(i);
  return std::nullopt;
}

bool can_move(RunState from, RunState to) { return (kLegalMoves[index(from)] >> index(to) & 1u) != 0; }

}  // namespace lathe::model

// The states of a run and the one gate between them. Nothing else in Lathe assigns a run's state.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace lathe::model {

enum class RunState {
  not_started,       // the record exists
  starting,          // accepted; the server looks at it
  preparing,         // the server locks and builds the environment
  queued,            // waits for nodes, or for the runner of its attempt to come
  running,           // a runner has claimed the attempt; delivery of files on the node counts as running
  finalizing,        // the user's process has ended; outputs are collected
  cancel_requested,  // somebody wants it to end; processes may still live
  completed,
  failed,
  canceled,
};
inline constexpr int kRunStateCount = 10;

// The word of the API, e.g. "CancelRequested".
std::string_view state_name(RunState state);
std::optional<RunState> state_from_name(std::string_view name);

constexpr bool is_terminal(RunState state) {
  return state == RunState::completed || state == RunState::failed || state == RunState::canceled;
}

// The table of legal moves: kLegalMoves[from] is the set of states that may follow.
bool can_move(RunState from, RunState to);

}  // namespace lathe::model

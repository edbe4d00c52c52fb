#include "model/run_state.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "model/run.h"

namespace lathe::model {
namespace {

// Written from the description of a run's life, not from the table: "From>To" for every legal move.
const std::set<std::string> kMoves{
    // the straight life
    "NotStarted>Starting",
    "Starting>Preparing",
    "Preparing>Queued",
    "Queued>Running",
    "Running>Finalizing",
    "Finalizing>Completed",
    "Finalizing>Failed",
    // it fails before a runner has it
    "Starting>Failed",
    "Preparing>Failed",
    "Queued>Failed",
    // a declared retry
    "Finalizing>Queued",
    // somebody cancels
    "NotStarted>CancelRequested",
    "Starting>CancelRequested",
    "Preparing>CancelRequested",
    "Queued>CancelRequested",
    "Running>CancelRequested",
    "Finalizing>CancelRequested",
    "CancelRequested>Finalizing",
    "CancelRequested>Canceled",
    "Finalizing>Canceled",
};

TEST(RunState, AllowsExactlyTheMovesOfTheLifeOfARun) {
  for (int from = 0; from < kRunStateCount; ++from)
    for (int to = 0; to < kRunStateCount; ++to) {
      auto a = static_cast<RunState>(from), b = static_cast<RunState>(to);
      std::string move = std::string(state_name(a)) + ">" + std::string(state_name(b));
      EXPECT_EQ(can_move(a, b), kMoves.contains(move)) << move;
    }
}

TEST(RunState, ATerminalStateIsNeverLeft) {
  int terminal = 0;
  for (int from = 0; from < kRunStateCount; ++from) {
    auto a = static_cast<RunState>(from);
    if (!is_terminal(a)) continue;
    ++terminal;
    for (int to = 0; to < kRunStateCount; ++to) EXPECT_FALSE(can_move(a, static_cast<RunState>(to)));
  }
  EXPECT_EQ(terminal, 3);
}

TEST(RunState, EveryStateHasAWordThatLeadsBackToIt) {
  std::set<std::string_view> words;
  for (int i = 0; i < kRunStateCount; ++i) {
    auto state = static_cast<RunState>(i);
    words.insert(state_name(state));
    EXPECT_EQ(state_from_name(state_name(state)), state);
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(kRunStateCount));
  EXPECT_EQ(state_from_name("queued"), std::nullopt);
  EXPECT_EQ(state_from_name(""), std::nullopt);
}

TEST(EndReason, EveryReasonHasAWordThatLeadsBackToIt) {
  std::set<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(EndReason::prepare_failed); ++i) {
    auto reason = static_cast<EndReason>(i);
    words.insert(end_reason_name(reason));
    EXPECT_EQ(end_reason_from_name(end_reason_name(reason)), reason);
  }
  EXPECT_EQ(words.size(), 10u);
  EXPECT_EQ(end_reason_from_name("oom"), std::nullopt);
}

}  // namespace
}  // namespace lathe::model

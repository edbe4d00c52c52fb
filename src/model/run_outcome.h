// How an attempt's end becomes a run's next state: the rules of success, failure, cancel and declared retries.
#pragma once

#include <optional>
#include <string>

#include "model/run.h"

namespace lathe::model {

// Whose failure it was, and so which of the declared retries it uses up.
enum class FailureKind { none, user, infrastructure };

struct Outcome {
  RunState next = RunState::failed;  // completed, failed, canceled, or queued for a retry
  FailureKind kind = FailureKind::none;
  std::string what;    // what happened, e.g. "exit code 1"
  std::string reason;  // of the last move, e.g. "retry 1 of 2 after exit code 1"
  std::optional<RunError> error;
};

// `run` and `attempt` as they stood before the end.
Outcome decide_outcome(const RunRecord& run, const AttemptRecord& attempt, const ExitRecord& exit);

}  // namespace lathe::model

#include "model/run_outcome.h"

#include "model/run_moves.h"

namespace lathe::model {
namespace {

bool cancel_was_asked(const AttemptRecord& attempt) {
  return attempt.stop_asked && attempt.stop_reason == EndReason::canceled;
}

// What the end really was. A process that died of a signal after we had asked it to stop was stopped by us; a runner
// that says "canceled" though nobody asked was stopped from outside, which is a lost node.
EndReason real_reason(const AttemptRecord& attempt, const ExitRecord& exit) {
  if (attempt.stop_asked && (exit.reason == EndReason::signaled || exit.reason == EndReason::canceled))
    return attempt.stop_reason;
  if (exit.reason == EndReason::canceled) return EndReason::node_lost;
  return exit.reason;
}

FailureKind kind_of(EndReason reason, int exit_code) {
  switch (reason) {
    case EndReason::exited:
      return exit_code == 0 ? FailureKind::none : FailureKind::user;
    case EndReason::signaled:
    case EndReason::out_of_memory:
      return FailureKind::user;
    case EndReason::preempted:
    case EndReason::node_lost:
      return FailureKind::infrastructure;
    // Trying again would end the same way: the limit, the file or the environment has to change first.
    case EndReason::none:
    case EndReason::timed_out:
    case EndReason::canceled:
    case EndReason::start_failed:
    case EndReason::prepare_failed:
      return FailureKind::none;
  }
  return FailureKind::none;
}

std::string in_words(EndReason reason, const ExitRecord& exit) {
  switch (reason) {
    case EndReason::exited:
      return fmt::format("exit code {}", exit.exit_code);
    case EndReason::signaled:
      return fmt::format("signal {}", exit.signal);
    case EndReason::out_of_memory:
      return "out of memory";
    case EndReason::timed_out:
      return "time-out";
    case EndReason::canceled:
      return "canceled";
    case EndReason::preempted:
      return "preemption";
    case EndReason::node_lost:
      return "a lost node";
    case EndReason::start_failed:
      return "a failed start";
    case EndReason::prepare_failed:
      return "a failed preparation";
    case EndReason::none:
      break;
  }
  return "an unknown end";
}

std::string message_for_people(EndReason reason, const ExitRecord& exit) {
  if (!exit.message.empty()) return exit.message;
  switch (reason) {
    case EndReason::exited:
      return fmt::format("the script ended with exit code {}", exit.exit_code);
    case EndReason::signaled:
      return fmt::format("the script was killed by signal {}", exit.signal);
    case EndReason::timed_out:
      return "the run took longer than max_run_duration_seconds";
    case EndReason::preempted:
      return "a dedicated run needed the node, and no infrastructure retry was left";
    case EndReason::node_lost:
      return "the node was lost, and no infrastructure retry was left";
    default:
      return fmt::format("the run ended with {}", in_words(reason, exit));
  }
}

std::string error_code(EndReason reason) {
  return reason == EndReason::exited ? "script-failed" : std::string(end_reason_name(reason));
}

// "retry 1 of 2 after exit code 1", or nothing when no declared retry is left.
std::optional<std::string> retry_reason(const RunRecord& run, FailureKind kind, const std::string& what) {
  if (kind == FailureKind::none) return std::nullopt;
  const bool user = kind == FailureKind::user;
  const int used = user ? run.user_failures : run.infrastructure_failures;
  const int declared = user ? run.spec.retries.user : run.spec.retries.infrastructure;
  if (used >= declared) return std::nullopt;
  return fmt::format("retry {} of {} after {}", used + 1, declared, what);
}

// Cancel was asked, and the attempt did not come to an end of its own.
bool ends_canceled(const AttemptRecord& attempt, EndReason reason) {
  if (!cancel_was_asked(attempt)) return false;
  return reason == EndReason::canceled || reason == EndReason::node_lost || reason == EndReason::preempted ||
         !attempt.claimed;
}

}  // namespace

Outcome decide_outcome(const RunRecord& run, const AttemptRecord& attempt, const ExitRecord& exit) {
  const EndReason reason = real_reason(attempt, exit);
  Outcome outcome;
  outcome.what = outcome.reason = in_words(reason, exit);
  const bool succeeded = reason == EndReason::exited && exit.exit_code == 0;
  if (!succeeded && ends_canceled(attempt, reason)) {
    outcome.next = RunState::canceled;
    return outcome;
  }
  if (succeeded) {
    outcome.next = RunState::completed;
    return outcome;
  }
  outcome.kind = kind_of(reason, exit.exit_code);
  auto retry = cancel_was_asked(attempt) ? std::nullopt : retry_reason(run, outcome.kind, outcome.what);
  if (retry) {
    outcome.next = RunState::queued;
    outcome.reason = std::move(*retry);
    return outcome;
  }
  outcome.error = RunError{error_code(reason), message_for_people(reason, exit)};
  return outcome;
}

ExitRecord gang_exit(std::span<const ExitRecord> nodes) {
  auto rank = [](const ExitRecord& exit) {  // what says most about why the gang ended comes first
    switch (exit.reason) {
      case EndReason::exited:
        return exit.exit_code == 0 ? 5 : 1;
      case EndReason::out_of_memory:
      case EndReason::timed_out:
      case EndReason::start_failed:
      case EndReason::prepare_failed:
        return 0;
      case EndReason::signaled:
        return 1;
      case EndReason::node_lost:
        return 2;
      case EndReason::preempted:
        return 3;
      case EndReason::canceled:
        return 4;
      case EndReason::none:
        return 6;
    }
    return 6;
  };
  auto earlier = [&](const ExitRecord& a, const ExitRecord& b) {
    return std::pair(rank(a), a.ended) < std::pair(rank(b), b.ended);
  };
  ExitRecord gang = *std::ranges::min_element(nodes, earlier);
  gang.usage = {};
  gang.unkillable = 0;
  for (const auto& node : nodes) {
    gang.unkillable += node.unkillable;
    gang.usage.cpu_seconds += node.usage.cpu_seconds;
    gang.usage.gpu_seconds += node.usage.gpu_seconds;
    gang.usage.peak_memory_bytes += node.usage.peak_memory_bytes;
    gang.usage.peak_gpu_memory_bytes += node.usage.peak_gpu_memory_bytes;
    if (node.started.micros != 0 && (gang.started.micros == 0 || node.started < gang.started))
      gang.started = node.started;
    gang.ended = std::max(gang.ended, node.ended);
  }
  return gang;
}

}  // namespace lathe::model

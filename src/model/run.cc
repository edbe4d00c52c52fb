#include "model/run.h"

#include <array>

namespace lathe::model {
namespace {

constexpr std::array<std::string_view, 10> kEndReasons{
    "none",     "exited",    "signaled",  "out-of-memory", "timed-out",
    "canceled", "preempted", "node-lost", "start-failed",  "prepare-failed",
};

}  // namespace

std::string_view kind_name(RunKind kind) { return kind == RunKind::script ? "script" : "interactive"; }

std::optional<RunKind> kind_from_name(std::string_view name) {
  for (RunKind kind : {RunKind::script, RunKind::interactive})
    if (kind_name(kind) == name) return kind;
  return std::nullopt;
}

std::string_view end_reason_name(EndReason reason) { return kEndReasons[static_cast<std::size_t>(reason)]; }

std::optional<EndReason> end_reason_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kEndReasons.size(); ++i)
    if (kEndReasons[i] == name) return static_cast<EndReason>(i);
  return std::nullopt;
}

}  // namespace lathe::model

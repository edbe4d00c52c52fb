#include "server/live_attempts.h"

#include "base/check.h"

namespace lathe::server {

LiveAttemptPtr LiveAttempts::add(const model::RunRecord& run, const model::AttemptRecord& attempt) {
  auto live = std::make_shared<LiveAttempt>(home_, run, attempt);
  live->stop = attempt.stop_reason;
  auto [position, added] = attempts_.emplace(run.id.value, live);
  LATHE_CHECK(added, "run {} already has live attempt {}", run.id.value, position->second->attempt.number);
  return live;
}

LiveAttemptPtr LiveAttempts::find(const std::string& run_id) const {
  auto found = attempts_.find(run_id);
  return found == attempts_.end() ? nullptr : found->second;
}

LiveAttemptPtr LiveAttempts::find(const std::string& run_id, int attempt) const {
  auto live = find(run_id);
  return live && live->attempt.number == attempt ? live : nullptr;
}

void LiveAttempts::ask_stop(const std::string& run_id, model::EndReason reason) {
  auto live = find(run_id);
  if (!live || live->stop == model::EndReason::canceled) return;
  live->stop = reason;
  live->changed.notify();
}

void LiveAttempts::remove(const std::string& run_id) {
  auto found = attempts_.find(run_id);
  if (found == attempts_.end()) return;
  found->second->over = true;
  found->second->changed.notify();
  attempts_.erase(found);
}

}  // namespace lathe::server

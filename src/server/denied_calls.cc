#include "server/denied_calls.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace lathe::server {

using rt::Task;

namespace {

Task<void> write_row(Core& core, Caller caller, std::string operation, std::string detail) {
  try {
    core.reserve.require_room();
    const auto now = core.clock.utc();
    co_await core.database.write(
        [&](db::Connection& connection) { audit(connection, caller, now, "denied", operation, detail); });
  } catch (const base::Error& error) {
    if (error.code() == base::Code::cancelled) throw;
    base::log::warn("a denied call is not in the audit trail", {{"who", caller.name}, {"why", error.text()}});
  }
}

}  // namespace

bool DeniedCalls::take(Allowance& allowance) const {
  const auto now = core_.clock.steady();
  const std::chrono::duration<double> passed = now - allowance.counted;
  allowance.rows = std::min(allowance.most, allowance.rows + passed.count() * allowance.per_second);
  allowance.counted = now;
  if (allowance.rows < 1) return false;
  allowance.rows -= 1;
  return true;
}

void DeniedCalls::note(const net::Refusal& refusal) {
  auto& allowance = refusal.name.empty() ? strangers_ : holders_;
  if (!take(allowance)) {
    ++allowance.unsaid;
    return;
  }
  auto detail = fmt::format("{}", refusal.status);
  if (allowance.unsaid > 0) detail += fmt::format("; {} more before it", std::exchange(allowance.unsaid, 0));
  Caller caller{refusal.name.empty() ? "nobody" : refusal.name, refusal.token_id, refusal.remote};
  auto operation = refusal.operation.empty() ? std::string("unknown") : refusal.operation;
  core_.scope.spawn("note a denied call", write_row(core_, std::move(caller), std::move(operation), std::move(detail)));
}

}  // namespace lathe::server

#include "server/retention.h"

#include "base/log.h"
#include "db/audit.h"
#include "db/events.h"

namespace lathe::server {

using base::Error;
using rt::Task;

namespace {

constexpr int kPiece = 1000;
constexpr base::Duration kBetweenPieces = std::chrono::milliseconds(50);
constexpr base::Duration kBetweenRounds = std::chrono::hours(6);

base::UtcTime days_ago(const Core& core, int days) {
  return {core.clock.utc().micros - std::int64_t{days} * 86'400'000'000};
}

Task<std::int64_t> trim_events(Core& core) {
  const auto before = days_ago(core, core.site.keep_events_days);
  std::int64_t removed = 0;
  for (std::optional<std::int64_t> after = 0; after;) {
    auto old = co_await core.database.read(
        [&](db::Connection& connection) { return db::events::find_old(connection, *after, before, kPiece); });
    after = old.next;
    if (old.ids.empty()) continue;
    co_await core.database.write([&](db::Connection& connection) { db::events::remove(connection, old.ids); });
    removed += static_cast<std::int64_t>(old.ids.size());
    co_await core.home.sleep(kBetweenPieces, core.scope.token());
  }
  co_return removed;
}

Task<std::int64_t> trim_audit(Core& core) {
  const auto before = days_ago(core, core.site.keep_audit_days);
  for (std::int64_t removed = 0;;) {
    auto piece = co_await core.database.write([&](db::Connection& connection) {
      return db::audit::trim(connection, before, kPiece, core.clock.utc());
    });
    removed += piece;
    if (piece < kPiece) co_return removed;
    co_await core.home.sleep(kBetweenPieces, core.scope.token());
  }
}

Task<void> trim_once(Core& core) {
  std::int64_t events = 0, audit_rows = 0;
  if (core.site.keep_events_days > 0) events = co_await trim_events(core);
  if (core.site.keep_audit_days > 0) audit_rows = co_await trim_audit(core);
  if (events + audit_rows > 0) base::log::info("old rows were removed", {{"events", events}, {"audit", audit_rows}});
}

}  // namespace

Task<void> keep_trimmed(Core& core) {
  if (core.site.keep_events_days == 0 && core.site.keep_audit_days == 0) co_return;
  for (;;) {
    try {
      co_await trim_once(core);
    } catch (const Error& error) {
      if (error.code() == base::Code::cancelled) throw;
      base::log::warn("old rows could not be removed", {{"why", error.text()}});
    }
    co_await core.home.sleep(kBetweenRounds, core.scope.token());
  }
}

}  // namespace lathe::server

#include "db/deleted_runs.h"

namespace lathe::db::deleted_runs {

namespace {
constexpr std::int64_t kKeptMicros = 30LL * 86'400 * 1'000'000;
}  // namespace

void add(Connection& connection, const model::RunId& id, base::UtcTime now) {
  connection.prepare("INSERT OR REPLACE INTO deleted_runs (id, deleted) VALUES (?, ?)").bind_all(id.value, now).run();
  connection.prepare("DELETE FROM deleted_runs WHERE deleted < ?").bind(now.micros - kKeptMicros).run();
}

bool contains(Connection& connection, const model::RunId& id) {
  return connection.prepare("SELECT 1 FROM deleted_runs WHERE id = ?").bind(id.value).step();
}

}  // namespace lathe::db::deleted_runs

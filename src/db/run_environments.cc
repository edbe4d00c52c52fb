#include "db/run_environments.h"

namespace lathe::db::run_environments {

void put(Connection& connection, std::int64_t run, const RunEnvironment& environment) {
  connection.prepare("INSERT OR REPLACE INTO run_environments VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind_all(run, environment.name, environment.version, environment.definition, environment.lock, environment.build,
                environment.substitutions_json)
      .run();
}

std::optional<RunEnvironment> find(Connection& connection, std::int64_t run) {
  Statement row = connection.prepare(
      "SELECT name, version, definition, lock, build, substitutions_json FROM run_environments WHERE run = ?");
  row.bind(run);
  if (!row.step()) return std::nullopt;
  RunEnvironment out{row.text(0), row.text(1), row.digest(2), row.optional_digest(3), std::nullopt, row.text(5)};
  if (!row.is_null(4)) out.build = row.integer(4);
  return out;
}

void set_build(Connection& connection, std::int64_t run, std::int64_t build) {
  connection.prepare("UPDATE run_environments SET build = ? WHERE run = ?").bind_all(build, run).run();
}

bool is_awaited(Connection& connection, std::int64_t build) {
  return connection
      .prepare(
          "SELECT 1 FROM runs AS r INDEXED BY runs_live JOIN run_environments AS e ON e.run = r.sequence"
          " WHERE r.terminal = 0 AND e.build = ?")
      .bind(build)
      .step();
}

}  // namespace lathe::db::run_environments

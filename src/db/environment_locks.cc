#include "db/environment_locks.h"

#include "base/error.h"

namespace lathe::db::environment_locks {

void put_definition(Connection& connection, const base::Digest& digest, std::string_view definition_json) {
  connection.prepare("INSERT OR IGNORE INTO environment_definitions VALUES (?, ?)")
      .bind_all(digest, definition_json)
      .run();
}

std::string get_definition(Connection& connection, const base::Digest& digest) {
  Statement row = connection.prepare("SELECT definition_json FROM environment_definitions WHERE digest = ?");
  row.bind(digest);
  if (!row.step()) throw base::Error(base::Code::not_found, "there is no such definition of an environment");
  return row.text(0);
}

void put(Connection& connection, std::string_view workspace, const base::Digest& key, const Locked& locked,
         const std::vector<base::Digest>& files) {
  connection.prepare("INSERT OR REPLACE INTO environment_locks VALUES (?, ?, ?, ?, ?, ?)")
      .bind_all(workspace, key, locked.lock, locked.substitutions_json, locked.locked, locked.locked_by)
      .run();
  for (const auto& file : files)
    connection.prepare("INSERT OR IGNORE INTO environment_lock_files VALUES (?, ?)").bind_all(locked.lock, file).run();
}

std::optional<Locked> find(Connection& connection, std::string_view workspace, const base::Digest& key) {
  Statement row = connection.prepare(
      "SELECT lock, substitutions_json, locked, locked_by FROM environment_locks WHERE workspace = ? AND key = ?");
  row.bind_all(workspace, key);
  if (!row.step()) return std::nullopt;
  return Locked{row.digest(0), row.text(1), row.time(2), row.text(3)};
}

bool is_lock(Connection& connection, const base::Digest& lock) {
  return connection
      .prepare(
          "SELECT 1 FROM environment_locks WHERE lock = ?1 UNION ALL SELECT 1 FROM run_environments WHERE lock = ?1")
      .bind(lock)
      .step();
}

}  // namespace lathe::db::environment_locks

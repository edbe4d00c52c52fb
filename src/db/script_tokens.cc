#include "db/script_tokens.h"

namespace lathe::db::script_tokens {

void put(Connection& connection, std::int64_t run, int attempt, const base::Digest& hash) {
  connection.prepare("INSERT OR REPLACE INTO script_tokens (run, attempt, hash) VALUES (?, ?, ?)")
      .bind_all(run, attempt, hash)
      .run();
}

std::optional<base::Digest> find(Connection& connection, std::int64_t run, int attempt) {
  Statement row = connection.prepare("SELECT hash FROM script_tokens WHERE run = ? AND attempt = ?");
  if (!row.bind_all(run, attempt).step()) return std::nullopt;
  return row.digest(0);
}

std::map<std::int64_t, base::Digest> of_live_runs(Connection& connection) {
  Statement row = connection.prepare(
      "SELECT s.run, s.hash FROM runs AS r INDEXED BY runs_live JOIN script_tokens AS s"
      " ON s.run = r.sequence AND s.attempt = r.attempt WHERE r.terminal = 0");
  std::map<std::int64_t, base::Digest> hashes;
  while (row.step()) hashes.emplace(row.integer(0), row.digest(1));
  return hashes;
}

}  // namespace lathe::db::script_tokens

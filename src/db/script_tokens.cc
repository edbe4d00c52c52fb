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

}  // namespace lathe::db::script_tokens

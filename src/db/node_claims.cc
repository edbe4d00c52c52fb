#include "db/node_claims.h"

namespace lathe::db::node_claims {

void insert_if_absent(Connection& connection, std::int64_t run, int attempt, int node) {
  connection.prepare("INSERT OR IGNORE INTO node_claims (run, attempt, node) VALUES (?, ?, ?)")
      .bind_all(run, attempt, node)
      .run();
}

std::set<int> list(Connection& connection, std::int64_t run, int attempt) {
  Statement row = connection.prepare("SELECT node FROM node_claims WHERE run = ? AND attempt = ?");
  row.bind_all(run, attempt);
  std::set<int> nodes;
  while (row.step()) nodes.insert(static_cast<int>(row.integer(0)));
  return nodes;
}

std::map<std::int64_t, std::set<int>> of_live_runs(Connection& connection) {
  Statement row = connection.prepare(
      "SELECT c.run, c.node FROM runs AS r INDEXED BY runs_live JOIN node_claims AS c"
      " ON c.run = r.sequence AND c.attempt = r.attempt WHERE r.terminal = 0");
  std::map<std::int64_t, std::set<int>> nodes;
  while (row.step()) nodes[row.integer(0)].insert(static_cast<int>(row.integer(1)));
  return nodes;
}

}  // namespace lathe::db::node_claims

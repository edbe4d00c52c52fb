#include "db/node_exits.h"

#include "db/columns.h"

namespace lathe::db::node_exits {

void insert_if_absent(Connection& connection, std::int64_t run, int attempt, int node, const model::ExitRecord& exit) {
  connection.prepare("INSERT OR IGNORE INTO node_exits (run, attempt, node, exit_json) VALUES (?, ?, ?, ?)")
      .bind_all(run, attempt, node, columns::encode_exit(exit))
      .run();
}

bool contains(Connection& connection, std::int64_t run, int attempt, int node) {
  return connection.prepare("SELECT 1 FROM node_exits WHERE run = ? AND attempt = ? AND node = ?")
      .bind_all(run, attempt, node)
      .step();
}

std::map<int, model::ExitRecord> by_node(Connection& connection, std::int64_t run, int attempt) {
  Statement row = connection.prepare("SELECT node, exit_json FROM node_exits WHERE run = ? AND attempt = ?");
  row.bind_all(run, attempt);
  std::map<int, model::ExitRecord> exits;
  while (row.step()) exits[static_cast<int>(row.integer(0))] = columns::decode_exit(row.text(1));
  return exits;
}

std::map<std::int64_t, std::map<int, model::ExitRecord>> of_live_runs(Connection& connection) {
  Statement row = connection.prepare(
      "SELECT e.run, e.node, e.exit_json FROM runs AS r INDEXED BY runs_live JOIN node_exits AS e"
      " ON e.run = r.sequence AND e.attempt = r.attempt WHERE r.terminal = 0");
  std::map<std::int64_t, std::map<int, model::ExitRecord>> exits;
  while (row.step()) exits[row.integer(0)][static_cast<int>(row.integer(1))] = columns::decode_exit(row.text(2));
  return exits;
}

}  // namespace lathe::db::node_exits

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

}  // namespace lathe::db::node_exits

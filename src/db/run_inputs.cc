#include "db/run_inputs.h"

#include "wire/run_data.h"

namespace lathe::db::run_inputs {

void put(Connection& connection, std::int64_t run, const model::ResolvedInputs& inputs) {
  for (const auto& [name, input] : inputs)
    connection.prepare("INSERT OR REPLACE INTO run_inputs (run, name, tree, resolved) VALUES (?, ?, ?, ?)")
        .bind_all(run, name, input.tree, wire::encode_resolved(input))
        .run();
}

model::ResolvedInputs list(Connection& connection, std::int64_t run) {
  Statement row = connection.prepare("SELECT name, resolved FROM run_inputs WHERE run = ?");
  row.bind(run);
  model::ResolvedInputs out;
  while (row.step()) out[row.text(0)] = base::value_or_throw(wire::decode_resolved(row.text(1)));
  return out;
}

std::vector<base::Digest> live_trees(Connection& connection) {
  Statement row = connection.prepare(
      "SELECT DISTINCT i.tree FROM runs AS r INDEXED BY runs_live JOIN run_inputs AS i ON i.run = r.sequence "
      "WHERE r.terminal = 0 AND i.tree IS NOT NULL");
  std::vector<base::Digest> out;
  while (row.step()) out.push_back(row.digest(0));
  return out;
}

}  // namespace lathe::db::run_inputs

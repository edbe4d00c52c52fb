#include "db/blob_rights.h"

namespace lathe::db::blob_rights {

namespace {
constexpr std::int64_t kKeptMicros = 30LL * 86'400 * 1'000'000;
}  // namespace

void note_sent(Connection& connection, std::string_view workspace, std::span<const base::Digest> digests,
               base::UtcTime now) {
  for (const auto& digest : digests)
    connection.prepare("INSERT OR REPLACE INTO sent_blobs (workspace, digest, sent) VALUES (?, ?, ?)")
        .bind_all(workspace, digest, now)
        .run();
  connection.prepare("DELETE FROM sent_blobs WHERE sent < ?").bind(now.micros - kKeptMicros).run();
}

bool was_sent(Connection& connection, std::string_view workspace, const base::Digest& digest) {
  return connection.prepare("SELECT 1 FROM sent_blobs WHERE workspace = ? AND digest = ?")
      .bind_all(workspace, digest)
      .step();
}

bool names_tree(Connection& connection, std::string_view workspace, const base::Digest& tree) {
  return connection
      .prepare(
          "SELECT 1 WHERE EXISTS (SELECT 1 FROM runs INDEXED BY runs_by_snapshot WHERE snapshot = ?1 AND workspace = ?2)"
          " OR EXISTS (SELECT 1 FROM datasets WHERE tree = ?1 AND workspace = ?2)"
          " OR EXISTS (SELECT 1 FROM models INDEXED BY models_by_tree WHERE tree = ?1 AND workspace = ?2)"
          " OR EXISTS (SELECT 1 FROM run_inputs AS i JOIN runs AS r ON r.sequence = i.run"
          "            WHERE i.tree = ?1 AND r.workspace = ?2)")
      .bind_all(tree, workspace)
      .step();
}

bool names_lock(Connection& connection, std::string_view workspace, const base::Digest& lock) {
  return connection
      .prepare(
          "SELECT 1 WHERE EXISTS (SELECT 1 FROM environment_locks WHERE lock = ?1 AND workspace = ?2)"
          " OR EXISTS (SELECT 1 FROM run_environments AS e JOIN runs AS r ON r.sequence = e.run"
          "            WHERE e.lock = ?1 AND r.workspace = ?2)")
      .bind_all(lock, workspace)
      .step();
}

bool names_file(Connection& connection, std::string_view workspace, const base::Digest& digest) {
  return connection
      .prepare(
          "SELECT 1 FROM datastore_files INDEXED BY datastore_files_by_digest WHERE digest = ? AND workspace = ? LIMIT 1")
      .bind_all(digest, workspace)
      .step();
}

std::vector<base::Digest> trees_of_run(Connection& connection, std::string_view run) {
  Statement row = connection.prepare(
      "SELECT snapshot FROM runs WHERE id = ?1 AND snapshot IS NOT NULL UNION"
      " SELECT i.tree FROM runs AS r JOIN run_inputs AS i ON i.run = r.sequence"
      " WHERE r.id = ?1 AND i.tree IS NOT NULL");
  row.bind(run);
  std::vector<base::Digest> trees;
  while (row.step()) trees.push_back(row.digest(0));
  return trees;
}

bool needs_for_environment(Connection& connection, std::string_view run, const base::Digest& digest) {
  return connection
      .prepare(
          "SELECT 1 FROM runs AS r JOIN run_environments AS e ON e.run = r.sequence WHERE r.id = ?1 AND (e.lock = ?2"
          " OR EXISTS (SELECT 1 FROM environment_lock_files AS f WHERE f.lock = e.lock AND f.digest = ?2))")
      .bind_all(run, digest)
      .step();
}

}  // namespace lathe::db::blob_rights

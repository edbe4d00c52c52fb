#include "db/artifacts.h"

#include "db/cursor.h"
#include "db/prefix.h"

namespace lathe::db::artifacts {

namespace {

constexpr std::string_view kSelect = "SELECT path, digest, size, executable, attempt, updated FROM artifacts";

Artifact read(const Statement& row) {
  return {.path = row.text(0),
          .digest = row.digest(1),
          .size = row.integer(2),
          .executable = row.integer(3) != 0,
          .attempt = static_cast<int>(row.integer(4)),
          .updated = row.time(5)};
}

}  // namespace

void upsert(Connection& connection, std::int64_t run, std::span<const Artifact> files) {
  for (const Artifact& file : files) {
    connection
        .prepare(
            "INSERT OR REPLACE INTO artifacts (run, path, digest, size, executable, attempt, updated)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)")
        .bind_all(run, file.path, file.digest, file.size, file.executable, file.attempt, file.updated)
        .run();
  }
}

std::optional<Artifact> find(Connection& connection, std::int64_t run, std::string_view path) {
  Statement row = connection.prepare(fmt::format("{} WHERE run = ? AND path = ?", kSelect));
  if (!row.bind_all(run, path).step()) return std::nullopt;
  return read(row);
}

Page<Artifact> list(Connection& connection, std::int64_t run, std::string_view prefix, int limit,
                    std::string_view cursor) {
  check_limit(limit);
  const std::string scope = fmt::format("artifacts\n{}\n{}", run, prefix);
  const std::string after = cursor.empty() ? std::string() : read_cursor(scope, cursor);
  const auto end = end_of_prefix(prefix);
  Statement row = connection.prepare(fmt::format("{} WHERE run = ? AND path >= ? AND path > ? {} ORDER BY path LIMIT ?",
                                                 kSelect, end ? "AND path < ?" : ""));
  row.bind_all(run, prefix, after);
  if (end) row.bind(*end);
  row.bind(limit + 1);
  std::vector<Artifact> found;
  while (row.step()) found.push_back(read(row));
  return make_page(std::move(found), limit, [&](const Artifact& last) { return make_cursor(scope, last.path); });
}

void visit_references(Connection& connection, const std::function<void(const base::Digest&, bool is_tree)>& visit) {
  auto visit_all = [&](std::string_view sql, bool is_tree) {
    Statement row = connection.prepare(sql);
    while (row.step()) visit(row.digest(0), is_tree);
  };
  visit_all("SELECT digest FROM artifacts", false);
  visit_all("SELECT digest FROM log_segments", false);
  visit_all("SELECT DISTINCT snapshot FROM runs INDEXED BY runs_by_snapshot WHERE snapshot IS NOT NULL", true);
  // A backup of an older version is checked as it is: it does not have every table yet.
  auto has_table = [&](std::string_view name) {
    return connection.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").bind(name).step();
  };
  if (!has_table("models")) return;
  visit_all("SELECT digest FROM datastore_files", false);
  visit_all("SELECT digest FROM url_cache", false);
  visit_all("SELECT tree FROM datasets WHERE tree IS NOT NULL", true);
  visit_all("SELECT tree FROM models", true);
  if (!has_table("run_inputs")) return;
  visit_all(
      "SELECT DISTINCT i.tree FROM runs AS r INDEXED BY runs_live JOIN run_inputs AS i ON i.run = r.sequence "
      "WHERE r.terminal = 0 AND i.tree IS NOT NULL",
      true);
  if (!has_table("environment_builds")) return;
  visit_all("SELECT DISTINCT lock FROM environment_locks", false);
  visit_all("SELECT DISTINCT lock FROM run_environments WHERE lock IS NOT NULL", false);
  visit_all(
      "SELECT DISTINCT digest FROM environment_lock_files AS f WHERE"
      " EXISTS (SELECT 1 FROM environment_locks AS l WHERE l.lock = f.lock) OR"
      " EXISTS (SELECT 1 FROM run_environments AS r WHERE r.lock = f.lock)",
      false);
  visit_all("SELECT log FROM environment_builds WHERE log IS NOT NULL", false);
  visit_all("SELECT source FROM environment_builds WHERE ended IS NULL AND source IS NOT NULL", true);
}

}  // namespace lathe::db::artifacts

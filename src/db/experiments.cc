#include "db/experiments.h"

#include "base/error.h"
#include "base/strings.h"
#include "db/cursor.h"

namespace lathe::db::experiments {

namespace {

constexpr std::string_view kSelect =
    "SELECT e.workspace, e.name, e.created, e.run_count, r.id, e.id FROM experiments AS e"
    " LEFT JOIN runs AS r ON r.sequence = e.last_run";

struct Row {
  Experiment experiment;
  std::int64_t id = 0;
};

Row read(const Statement& row) {
  Row result{{.workspace = row.text(0), .name = row.text(1), .created = row.time(2), .run_count = row.integer(3)},
             row.integer(5)};
  if (auto id = row.optional_text(4)) result.experiment.last_run = model::RunId{*id};
  return result;
}

}  // namespace

void ensure(Connection& connection, std::string_view workspace, std::string_view name, base::UtcTime now) {
  connection
      .prepare(
          "INSERT INTO experiments (workspace, name, created) VALUES (?, ?, ?)"
          " ON CONFLICT (workspace, name) DO NOTHING")
      .bind_all(workspace, name, now)
      .run();
}

std::optional<Experiment> find(Connection& connection, std::string_view workspace, std::string_view name) {
  Statement row = connection.prepare(fmt::format("{} WHERE e.workspace = ? AND e.name = ?", kSelect));
  if (!row.bind_all(workspace, name).step()) return std::nullopt;
  return read(row).experiment;
}

Experiment get(Connection& connection, std::string_view workspace, std::string_view name) {
  if (auto experiment = find(connection, workspace, name)) return *experiment;
  throw base::Error(base::Code::not_found, fmt::format("there is no experiment '{}'", base::printable(name)))
      .field("experiment")
      .hint("see: lathe experiment list");
}

Page<Experiment> list(Connection& connection, std::string_view workspace, int limit, std::string_view cursor) {
  check_limit(limit);
  const std::string scope = fmt::format("experiments\n{}", workspace);
  const std::int64_t before = cursor.empty() ? INT64_MAX : read_number_cursor(scope, cursor);
  Statement row =
      connection.prepare(fmt::format("{} WHERE e.workspace = ? AND e.id < ? ORDER BY e.id DESC LIMIT ?", kSelect));
  row.bind_all(workspace, before, limit + 1);
  std::vector<Row> rows;
  while (row.step()) rows.push_back(read(row));
  auto page = make_page(std::move(rows), limit, [&](const Row& last) { return make_cursor(scope, last.id); });
  Page<Experiment> result{{}, std::move(page.next)};
  for (Row& found : page.items) result.items.push_back(std::move(found.experiment));
  return result;
}

void count_inserted(Connection& connection, const model::RunRecord& run) {
  connection.prepare("UPDATE experiments SET run_count = run_count + 1, last_run = ? WHERE workspace = ? AND name = ?")
      .bind_all(run.sequence, run.workspace, run.spec.experiment)
      .run();
}

void count_removed(Connection& connection, const model::RunRecord& run) {
  // The newest that is left, as the greater of two index ends.
  connection
      .prepare(
          "UPDATE experiments SET run_count = run_count - 1, last_run = CASE WHEN last_run <> ?1 THEN last_run ELSE"
          " (SELECT max(newest) FROM ("
          "  SELECT max(sequence) AS newest FROM runs WHERE workspace = ?2 AND experiment = ?3 AND archived = 0"
          "  UNION ALL"
          "  SELECT max(sequence) FROM runs WHERE workspace = ?2 AND experiment = ?3 AND archived = 1)) END"
          " WHERE workspace = ?2 AND name = ?3")
      .bind_all(run.sequence, run.workspace, run.spec.experiment)
      .run();
}

}  // namespace lathe::db::experiments

#include "db/environment_builds.h"

#include <array>

#include "base/error.h"
#include "db/cursor.h"

namespace lathe::db::environment_builds {

namespace {

constexpr std::array<std::string_view, 5> kStates{"waiting", "locking", "building", "ready", "failed"};
constexpr std::string_view kSelect =
    "SELECT id, workspace, environment, version, definition, key, source, refresh, state, lock, substitutions_json,"
    " error_json, log, log_bytes, created, started, ended, created_by FROM environment_builds";

State read_state(const std::string& word) {
  for (std::size_t i = 0; i < kStates.size(); ++i)
    if (kStates[i] == word) return static_cast<State>(i);
  throw base::Error(base::Code::corrupt, "a build has the unknown state '" + word + "'");
}

Build read(const Statement& row) {
  Build build;
  build.id = row.integer(0);
  build.workspace = row.text(1);
  build.environment = row.text(2);
  build.version = row.text(3);
  build.definition = row.digest(4);
  build.key = row.digest(5);
  build.source = row.optional_digest(6);
  build.refresh = row.integer(7) != 0;
  build.state = read_state(row.text(8));
  build.lock = row.optional_digest(9);
  build.substitutions_json = row.text(10);
  build.error_json = row.optional_text(11);
  build.log = row.optional_digest(12);
  build.log_bytes = row.integer(13);
  build.created = row.time(14);
  build.started = row.optional_time(15);
  build.ended = row.optional_time(16);
  build.created_by = row.text(17);
  return build;
}

std::optional<Build> read_one(Statement& row) { return row.step() ? std::optional(read(row)) : std::nullopt; }

std::vector<Build> read_all(Statement row) {
  std::vector<Build> all;
  while (row.step()) all.push_back(read(row));
  return all;
}

}  // namespace

std::string_view state_name(State state) { return kStates[static_cast<std::size_t>(state)]; }

Build insert(Connection& connection, Build build) {
  connection
      .prepare(
          "INSERT INTO environment_builds (workspace, environment, version, definition, key, source, refresh, state,"
          " lock, substitutions_json, error_json, log, log_bytes, created, started, ended, created_by)"
          " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind_all(build.workspace, build.environment, build.version, build.definition, build.key, build.source,
                build.refresh, state_name(build.state), build.lock, build.substitutions_json, build.error_json,
                build.log, build.log_bytes, build.created, build.started, build.ended, build.created_by)
      .run();
  build.id = connection.last_insert_id();
  return build;
}

void update(Connection& connection, const Build& build) {
  connection
      .prepare(
          "UPDATE environment_builds SET state = ?, lock = ?, substitutions_json = ?, error_json = ?, log = ?,"
          " log_bytes = ?, started = ?, ended = ? WHERE id = ?")
      .bind_all(state_name(build.state), build.lock, build.substitutions_json, build.error_json, build.log,
                build.log_bytes, build.started, build.ended, build.id)
      .run();
}

std::optional<Build> find(Connection& connection, std::string_view workspace, std::int64_t id) {
  Statement row = connection.prepare(std::string(kSelect) + " WHERE id = ? AND workspace = ?");
  row.bind_all(id, workspace);
  return read_one(row);
}

std::vector<Build> live(Connection& connection) {
  return read_all(
      connection.prepare(std::string(kSelect) + " INDEXED BY environment_builds_live WHERE ended IS NULL ORDER BY id"));
}

int trim(Connection& connection, std::string_view workspace, const base::Digest& definition, int keep) {
  return connection
      .prepare(
          "DELETE FROM environment_builds WHERE id IN"
          " (SELECT id FROM environment_builds INDEXED BY environment_builds_by_definition"
          "  WHERE workspace = ? AND definition = ? AND ended IS NOT NULL ORDER BY id DESC LIMIT -1 OFFSET ?)"
          " AND NOT EXISTS (SELECT 1 FROM run_environments WHERE build = environment_builds.id)")
      .bind_all(workspace, definition, keep)
      .run();
}

Page<Build> list(Connection& connection, std::string_view workspace, int limit, std::string_view cursor) {
  check_limit(limit);
  const std::string scope = fmt::format("environment builds\n{}", workspace);
  const auto before = cursor.empty() ? INT64_MAX : read_number_cursor(scope, cursor);
  Statement row = connection.prepare(std::string(kSelect) + " WHERE workspace = ? AND id < ? ORDER BY id DESC LIMIT ?");
  row.bind_all(workspace, before, limit + 1);
  return make_page(read_all(std::move(row)), limit, [&](const Build& last) { return make_cursor(scope, last.id); });
}

}  // namespace lathe::db::environment_builds

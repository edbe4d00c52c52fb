#include "db/environments.h"

namespace lathe::db::environments {

namespace {

constexpr std::string_view kSelect =
    "SELECT workspace, name, version, definition_json, digest, created, created_by, version = (SELECT max(version)"
    " FROM environments AS n WHERE n.workspace = environments.workspace AND n.name = environments.name)"
    " FROM environments";

Environment read(const Statement& row) {
  return {.workspace = row.text(0),
          .name = row.text(1),
          .version = row.integer(2),
          .latest = row.integer(7) != 0,
          .definition_json = row.text(3),
          .digest = row.digest(4),
          .created = row.time(5),
          .created_by = row.text(6)};
}

}  // namespace

Environment insert(Connection& connection, Environment environment) {
  auto newest = find(connection, environment.workspace, environment.name);
  environment.version = newest ? newest->version + 1 : 1;  // none is ever removed
  connection.prepare("INSERT INTO environments VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind_all(environment.workspace, environment.name, environment.version, environment.definition_json,
                environment.digest, environment.created, environment.created_by)
      .run();
  environment.latest = true;
  return environment;
}

std::optional<Environment> find(Connection& connection, std::string_view workspace, std::string_view name,
                                std::int64_t version) {
  Statement row = connection.prepare(fmt::format("{} WHERE workspace = ? AND name = ? {} ORDER BY version DESC LIMIT 1",
                                                 kSelect, version > 0 ? "AND version = ?" : ""));
  row.bind_all(workspace, name);
  if (version > 0) row.bind(version);
  if (!row.step()) return std::nullopt;
  return read(row);
}

std::vector<Environment> list_latest_after(Connection& connection, std::string_view workspace, std::string_view after,
                                           int limit) {
  Statement row = connection.prepare(
      fmt::format("{} WHERE workspace = ? AND name > ? AND version = (SELECT max(version) FROM environments AS n WHERE"
                  " n.workspace = environments.workspace AND n.name = environments.name) ORDER BY name LIMIT ?",
                  kSelect));
  row.bind_all(workspace, after, limit);
  std::vector<Environment> found;
  while (row.step()) found.push_back(read(row));
  return found;
}

}  // namespace lathe::db::environments

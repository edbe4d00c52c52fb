#include "db/workspaces.h"

#include "base/error.h"
#include "base/strings.h"

namespace lathe::db::workspaces {

namespace {

Workspace read(const Statement& row) {
  return {.name = row.text(0), .subscription_id = row.text(1), .resource_group = row.text(2), .created = row.time(3)};
}

}  // namespace

std::optional<Workspace> find(Connection& connection, std::string_view name) {
  Statement row =
      connection.prepare("SELECT name, subscription_id, resource_group, created FROM workspaces WHERE name = ?");
  if (!row.bind(name).step()) return std::nullopt;
  return read(row);
}

Workspace get(Connection& connection, std::string_view name) {
  if (auto workspace = find(connection, name)) return *workspace;
  throw base::Error(base::Code::not_found, fmt::format("there is no workspace '{}'", base::printable(name)))
      .field("workspace")
      .hint("create it with: lathe workspace init");
}

bool insert_if_absent(Connection& connection, const Workspace& workspace) {
  return connection
             .prepare(
                 "INSERT INTO workspaces (name, subscription_id, resource_group, created) VALUES (?, ?, ?, ?)"
                 " ON CONFLICT (name) DO NOTHING")
             .bind_all(workspace.name, workspace.subscription_id, workspace.resource_group, workspace.created)
             .run() == 1;
}

std::vector<Workspace> list_after(Connection& connection, std::string_view after, int limit) {
  Statement row = connection.prepare(
      "SELECT name, subscription_id, resource_group, created FROM workspaces WHERE name > ? ORDER BY name LIMIT ?");
  row.bind_all(after, limit);
  std::vector<Workspace> found;
  while (row.step()) found.push_back(read(row));
  return found;
}

}  // namespace lathe::db::workspaces

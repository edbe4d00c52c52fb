#include "db/secrets.h"

#include "db/cursor.h"

namespace lathe::db::secrets {

namespace {

constexpr std::string_view kSelect = "SELECT name, key_id, wrapped_key, sealed, created, updated FROM secrets";

Secret read(const Statement& row) {
  return {.name = row.text(0),
          .key_id = row.text(1),
          .wrapped_key = row.blob(2),
          .sealed = row.blob(3),
          .created = row.time(4),
          .updated = row.time(5)};
}

}  // namespace

void upsert(Connection& connection, std::string_view workspace, const Secret& secret) {
  connection
      .prepare(
          "INSERT INTO secrets (workspace, name, key_id, wrapped_key, sealed, created, updated)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (workspace, name) DO UPDATE SET key_id = ?3,"
          " wrapped_key = ?4, sealed = ?5, updated = ?7")
      .bind_all(workspace, secret.name, secret.key_id)
      .bind_blob(secret.wrapped_key)
      .bind_blob(secret.sealed)
      .bind_all(secret.created, secret.updated)
      .run();
}

std::optional<Secret> find(Connection& connection, std::string_view workspace, std::string_view name) {
  Statement row = connection.prepare(fmt::format("{} WHERE workspace = ? AND name = ?", kSelect));
  if (!row.bind_all(workspace, name).step()) return std::nullopt;
  return read(row);
}

Page<Secret> list(Connection& connection, std::string_view workspace, int limit, std::string_view cursor) {
  check_limit(limit);
  const std::string scope = fmt::format("secrets\n{}", workspace);
  const std::string after = cursor.empty() ? std::string() : read_cursor(scope, cursor);
  Statement row = connection.prepare(fmt::format("{} WHERE workspace = ? AND name > ? ORDER BY name LIMIT ?", kSelect));
  row.bind_all(workspace, after, limit + 1);
  std::vector<Secret> found;
  while (row.step()) found.push_back(read(row));
  return make_page(std::move(found), limit, [&](const Secret& last) { return make_cursor(scope, last.name); });
}

bool remove(Connection& connection, std::string_view workspace, std::string_view name) {
  return connection.prepare("DELETE FROM secrets WHERE workspace = ? AND name = ?").bind_all(workspace, name).run() ==
         1;
}

std::vector<Wrapped> wrapped_otherwise(Connection& connection, std::string_view key_id, const Wrapped& after,
                                       int limit) {
  Statement row = connection.prepare(
      "SELECT workspace, name, key_id, wrapped_key FROM secrets"
      " WHERE key_id <> ?1 AND (workspace, name) > (?2, ?3) ORDER BY workspace, name LIMIT ?4");
  row.bind_all(key_id, after.workspace, after.name, limit);
  std::vector<Wrapped> found;
  while (row.step())
    found.push_back(
        {std::string(row.text(0)), std::string(row.text(1)), std::string(row.text(2)), std::string(row.blob(3))});
  return found;
}

bool rewrap(Connection& connection, const Wrapped& before, std::string_view key_id, std::string_view wrapped_key) {
  return connection
             .prepare(
                 "UPDATE secrets SET key_id = ?1, wrapped_key = ?2"
                 " WHERE workspace = ?3 AND name = ?4 AND key_id = ?5 AND wrapped_key = ?6")
             .bind_all(key_id)
             .bind_blob(wrapped_key)
             .bind_all(before.workspace, before.name, before.key_id)
             .bind_blob(before.wrapped_key)
             .run() == 1;
}

std::vector<std::string> keys_in_use(Connection& connection) {
  Statement row = connection.prepare("SELECT DISTINCT key_id FROM secrets ORDER BY key_id");
  std::vector<std::string> found;
  while (row.step()) found.emplace_back(row.text(0));
  return found;
}

}  // namespace lathe::db::secrets

#include "db/datastores.h"

#include "db/cursor.h"
#include "db/prefix.h"

namespace lathe::db::datastores {

namespace {

constexpr std::string_view kSelect =
    "SELECT workspace, name, kind, type, path, writable, definition_json, created FROM datastores";
constexpr std::string_view kSelectFile = "SELECT path, digest, size, modified, written_by FROM datastore_files";

Datastore read(const Statement& row) {
  return {.workspace = row.text(0),
          .name = row.text(1),
          .kind = row.text(2),
          .type = row.text(3),
          .path = row.text(4),
          .writable = row.integer(5) != 0,
          .definition_json = row.text(6),
          .created = row.time(7)};
}

File read_file(const Statement& row) {
  return {.path = row.text(0),
          .digest = row.digest(1),
          .size = row.integer(2),
          .modified = row.time(3),
          .written_by = row.optional_text(4)};
}

}  // namespace

bool insert_or_update(Connection& connection, const Datastore& datastore) {
  const bool is_new = !find(connection, datastore.workspace, datastore.name);
  connection
      .prepare(
          "INSERT INTO datastores VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, name) DO UPDATE SET"
          " kind = excluded.kind, type = excluded.type, path = excluded.path, writable = excluded.writable,"
          " definition_json = excluded.definition_json")
      .bind_all(datastore.workspace, datastore.name, datastore.kind, datastore.type, datastore.path, datastore.writable,
                datastore.definition_json, datastore.created)
      .run();
  return is_new;
}

std::optional<Datastore> find(Connection& connection, std::string_view workspace, std::string_view name) {
  Statement row = connection.prepare(fmt::format("{} WHERE workspace = ? AND name = ?", kSelect));
  if (!row.bind_all(workspace, name).step()) return std::nullopt;
  return read(row);
}

std::vector<Datastore> list_after(Connection& connection, std::string_view workspace, std::string_view after,
                                  int limit) {
  Statement row = connection.prepare(fmt::format("{} WHERE workspace = ? AND name > ? ORDER BY name LIMIT ?", kSelect));
  row.bind_all(workspace, after, limit);
  std::vector<Datastore> found;
  while (row.step()) found.push_back(read(row));
  return found;
}

bool remove(Connection& connection, std::string_view workspace, std::string_view name) {
  connection.prepare("DELETE FROM datastore_files WHERE workspace = ? AND datastore = ?")
      .bind_all(workspace, name)
      .run();
  connection.prepare("DELETE FROM default_datastores WHERE workspace = ? AND datastore = ?")
      .bind_all(workspace, name)
      .run();
  return connection.prepare("DELETE FROM datastores WHERE workspace = ? AND name = ?")
             .bind_all(workspace, name)
             .run() == 1;
}

std::optional<std::string> find_default(Connection& connection, std::string_view workspace) {
  Statement row = connection.prepare("SELECT datastore FROM default_datastores WHERE workspace = ?");
  if (!row.bind(workspace).step()) return std::nullopt;
  return row.text(0);
}

void set_default(Connection& connection, std::string_view workspace, std::string_view name) {
  connection.prepare("INSERT OR REPLACE INTO default_datastores (workspace, datastore) VALUES (?, ?)")
      .bind_all(workspace, name)
      .run();
}

bool put_file(Connection& connection, const Place& place, const File& file, bool overwrite) {
  return connection
             .prepare(fmt::format("INSERT OR {} INTO datastore_files (workspace, datastore, path, digest, size,"
                                  " modified, written_by) VALUES (?, ?, ?, ?, ?, ?, ?)",
                                  overwrite ? "REPLACE" : "IGNORE"))
             .bind_all(place.workspace, place.datastore, file.path, file.digest, file.size, file.modified,
                       file.written_by)
             .run() == 1;
}

std::optional<File> find_file(Connection& connection, const Place& place, std::string_view path) {
  Statement row = connection.prepare(fmt::format("{} WHERE workspace = ? AND datastore = ? AND path = ?", kSelectFile));
  if (!row.bind_all(place.workspace, place.datastore, path).step()) return std::nullopt;
  return read_file(row);
}

std::vector<File> files_after(Connection& connection, const Place& place, std::string_view prefix,
                              std::string_view after, int limit) {
  const auto end = end_of_prefix(prefix);
  Statement row = connection.prepare(
      fmt::format("{} WHERE workspace = ? AND datastore = ? AND path >= ? AND path > ? {} ORDER BY path LIMIT ?",
                  kSelectFile, end ? "AND path < ?" : ""));
  row.bind_all(place.workspace, place.datastore, prefix, after);
  if (end) row.bind(*end);
  row.bind(limit);
  std::vector<File> found;
  while (row.step()) found.push_back(read_file(row));
  return found;
}

Page<File> list_files(Connection& connection, const Place& place, std::string_view prefix, int limit,
                      std::string_view cursor) {
  check_limit(limit);
  const std::string scope = fmt::format("datastore\n{}\n{}\n{}", place.workspace, place.datastore, prefix);
  const std::string after = cursor.empty() ? std::string() : read_cursor(scope, cursor);
  return make_page(files_after(connection, place, prefix, after, limit + 1), limit,
                   [&](const File& last) { return make_cursor(scope, last.path); });
}

std::int64_t remove_files(Connection& connection, const Place& place, std::string_view prefix) {
  const auto end = end_of_prefix(prefix);
  Statement statement = connection.prepare(fmt::format(
      "DELETE FROM datastore_files WHERE workspace = ? AND datastore = ? AND path >= ? {}", end ? "AND path < ?" : ""));
  statement.bind_all(place.workspace, place.datastore, prefix);
  if (end) statement.bind(*end);
  return statement.run();
}

}  // namespace lathe::db::datastores

#include "db/datasets.h"

#include "base/error.h"
#include "base/strings.h"
#include "db/cursor.h"
#include "db/versions.h"

namespace lathe::db::datasets {

namespace {

constexpr std::string_view kSelect =
    "SELECT workspace, id, kind, definition_json, created, tree, files, bytes FROM datasets";
constexpr std::string_view kSelectVersion =
    "SELECT v.workspace, v.name, v.version, v.dataset, d.kind, d.definition_json, v.description, v.tags_json,"
    " v.created, v.created_by, v.sequence, v.version = (SELECT max(version) FROM dataset_versions AS n"
    " WHERE n.workspace = v.workspace AND n.name = v.name)"
    " FROM dataset_versions AS v JOIN datasets AS d ON d.workspace = v.workspace AND d.id = v.dataset";

Saved read(const Statement& row) {
  Saved saved{.workspace = row.text(0),
              .id = row.text(1),
              .kind = row.text(2),
              .definition_json = row.text(3),
              .created = row.time(4),
              .content = std::nullopt};
  if (auto tree = row.optional_digest(5)) saved.content = Content{*tree, row.integer(6), row.integer(7)};
  return saved;
}

struct Row {
  Version version;
  std::int64_t sequence = 0;
};

Row read_version(const Statement& row) {
  return {{.workspace = row.text(0),
           .name = row.text(1),
           .version = row.integer(2),
           .latest = row.integer(11) != 0,
           .dataset = row.text(3),
           .kind = row.text(4),
           .definition_json = row.text(5),
           .description = row.text(6),
           .tags_json = row.text(7),
           .created = row.time(8),
           .created_by = row.text(9)},
          row.integer(10)};
}

Page<Version> read_page(Statement row, int limit, const std::string& scope) {
  std::vector<Row> rows;
  while (row.step()) rows.push_back(read_version(row));
  auto page = make_page(std::move(rows), limit, [&](const Row& last) { return make_cursor(scope, last.sequence); });
  Page<Version> result{{}, std::move(page.next)};
  for (Row& found : page.items) result.items.push_back(std::move(found.version));
  return result;
}

}  // namespace

bool save(Connection& connection, const Saved& dataset) {
  return connection
             .prepare(
                 "INSERT INTO datasets (workspace, id, kind, definition_json, created) VALUES (?, ?, ?, ?, ?)"
                 " ON CONFLICT (workspace, id) DO NOTHING")
             .bind_all(dataset.workspace, dataset.id, dataset.kind, dataset.definition_json, dataset.created)
             .run() == 1;
}

std::optional<Saved> find(Connection& connection, std::string_view workspace, std::string_view id) {
  Statement row = connection.prepare(fmt::format("{} WHERE workspace = ? AND id = ?", kSelect));
  if (!row.bind_all(workspace, id).step()) return std::nullopt;
  return read(row);
}

Saved get(Connection& connection, std::string_view workspace, std::string_view id) {
  if (auto saved = find(connection, workspace, id)) return *saved;
  throw base::Error(base::Code::not_found, fmt::format("there is no dataset with the id {}", base::printable(id, 60)))
      .field("id")
      .hint("save its definition first: POST …/datasets");
}

void set_content(Connection& connection, std::string_view workspace, std::string_view id, const Content& content) {
  connection.prepare("UPDATE datasets SET tree = ?, files = ?, bytes = ? WHERE workspace = ? AND id = ?")
      .bind_all(content.tree, content.files, content.bytes, workspace, id)
      .run();
}

Version register_version(Connection& connection, Version version) {
  version.version = versions::next(connection, version.workspace, "dataset", version.name);
  connection
      .prepare(
          "INSERT INTO dataset_versions (workspace, name, version, dataset, description, tags_json, created,"
          " created_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .bind_all(version.workspace, version.name, version.version, version.dataset, version.description,
                version.tags_json, version.created, version.created_by)
      .run();
  return get_version(connection, version.workspace, version.name, version.version);
}

std::optional<Version> find_version(Connection& connection, std::string_view workspace, std::string_view name,
                                    std::int64_t version) {
  Statement row =
      connection.prepare(fmt::format("{} WHERE v.workspace = ? AND v.name = ? {} ORDER BY v.version DESC LIMIT 1",
                                     kSelectVersion, version > 0 ? "AND v.version = ?" : ""));
  row.bind_all(workspace, name);
  if (version > 0) row.bind(version);
  if (!row.step()) return std::nullopt;
  return read_version(row).version;
}

Version get_version(Connection& connection, std::string_view workspace, std::string_view name, std::int64_t version) {
  if (auto found = find_version(connection, workspace, name, version)) return *found;
  throw base::Error(base::Code::not_found,
                    version > 0 ? fmt::format("the dataset '{}' has no version {}", base::printable(name), version)
                                : fmt::format("there is no dataset '{}'", base::printable(name)))
      .field(version > 0 ? "version" : "dataset")
      .hint("see: lathe data list");
}

void update_version(Connection& connection, const Version& version) {
  connection
      .prepare(
          "UPDATE dataset_versions SET description = ?, tags_json = ?"
          " WHERE workspace = ? AND name = ? AND version = ?")
      .bind_all(version.description, version.tags_json, version.workspace, version.name, version.version)
      .run();
}

Page<Version> list_versions(Connection& connection, std::string_view workspace, std::string_view name, int limit,
                            std::string_view cursor) {
  check_limit(limit);
  const std::string scope = fmt::format("dataset versions\n{}\n{}", workspace, name);
  const std::int64_t before = cursor.empty() ? INT64_MAX : read_number_cursor(scope, cursor);
  Statement row = connection.prepare(fmt::format(
      "{} WHERE v.workspace = ? AND v.name = ? AND v.sequence < ? ORDER BY v.sequence DESC LIMIT ?", kSelectVersion));
  row.bind_all(workspace, name, before, limit + 1);
  return read_page(std::move(row), limit, scope);
}

Page<Version> list_latest(Connection& connection, std::string_view workspace, int limit, std::string_view cursor) {
  check_limit(limit);
  const std::string scope = fmt::format("datasets\n{}", workspace);
  const std::int64_t before = cursor.empty() ? INT64_MAX : read_number_cursor(scope, cursor);
  Statement row = connection.prepare(fmt::format(
      "{} WHERE v.workspace = ? AND v.sequence < ? AND NOT EXISTS (SELECT 1 FROM dataset_versions AS n WHERE"
      " n.workspace = v.workspace AND n.name = v.name AND n.version > v.version) ORDER BY v.sequence DESC LIMIT ?",
      kSelectVersion));
  row.bind_all(workspace, before, limit + 1);
  return read_page(std::move(row), limit, scope);
}

std::vector<std::string> registered_as(Connection& connection, std::string_view workspace, std::string_view id) {
  Statement row = connection.prepare(
      "SELECT name || ':' || version FROM dataset_versions WHERE workspace = ? AND dataset = ? ORDER BY sequence");
  row.bind_all(workspace, id);
  std::vector<std::string> names;
  while (row.step()) names.push_back(row.text(0));
  return names;
}

int remove_name(Connection& connection, std::string_view workspace, std::string_view name) {
  return connection.prepare("DELETE FROM dataset_versions WHERE workspace = ? AND name = ?")
      .bind_all(workspace, name)
      .run();
}

}  // namespace lathe::db::datasets

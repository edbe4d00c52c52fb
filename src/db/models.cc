#include "db/models.h"

#include "base/error.h"
#include "base/strings.h"
#include "db/cursor.h"
#include "db/versions.h"

namespace lathe::db::models {

namespace {

constexpr std::string_view kSelect =
    "SELECT workspace, name, version, id, request_digest, tree, files, bytes, run, framework, description, tags_json,"
    " properties_json, details_json, created, created_by, sequence, version = (SELECT max(version) FROM models AS n"
    " WHERE n.workspace = models.workspace AND n.name = models.name) FROM models";

struct Row {
  Model model;
  std::int64_t sequence = 0;
};

Row read(const Statement& row) {
  return {{.workspace = row.text(0),
           .name = row.text(1),
           .version = row.integer(2),
           .latest = row.integer(17) != 0,
           .id = row.text(3),
           .request_digest = row.digest(4),
           .tree = row.digest(5),
           .files = row.integer(6),
           .bytes = row.integer(7),
           .run = row.text(8),
           .framework = row.text(9),
           .description = row.text(10),
           .tags_json = row.text(11),
           .properties_json = row.text(12),
           .details_json = row.text(13),
           .created = row.time(14),
           .created_by = row.text(15)},
          row.integer(16)};
}

// The condition for "key" or "key=value" over a column of JSON; its values follow in `values`.
std::string tag_condition(std::string_view column, std::string_view text, std::vector<std::string>& values) {
  const auto equals = text.find('=');
  values.emplace_back(text.substr(0, equals));
  if (equals == text.npos) return fmt::format(" AND EXISTS (SELECT 1 FROM json_each({}) WHERE key = ?)", column);
  values.emplace_back(text.substr(equals + 1));
  return fmt::format(" AND EXISTS (SELECT 1 FROM json_each({}) WHERE key = ? AND value = ?)", column);
}

// The WHERE clause behind the workspace.
std::string conditions(const Filter& filter, std::vector<std::string>& values) {
  std::string sql;
  auto equal = [&](std::string_view column, const std::optional<std::string>& value) {
    if (!value) return;
    sql += fmt::format(" AND {} = ?", column);
    values.push_back(*value);
  };
  equal("name", filter.name);
  equal("run", filter.run);
  equal("framework", filter.framework);
  if (filter.tag) sql += tag_condition("tags_json", *filter.tag, values);
  if (filter.property) sql += tag_condition("properties_json", *filter.property, values);
  if (filter.latest)
    sql +=
        " AND NOT EXISTS (SELECT 1 FROM models AS n WHERE n.workspace = models.workspace AND n.name = models.name"
        " AND n.version > models.version)";
  return sql;
}

}  // namespace

Model insert(Connection& connection, Model model) {
  model.version = versions::next(connection, model.workspace, "model", model.name);
  connection
      .prepare(
          "INSERT INTO models (workspace, name, version, id, request_digest, tree, files, bytes, run, framework,"
          " description, tags_json, properties_json, details_json, created, created_by)"
          " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind_all(model.workspace, model.name, model.version, model.id, model.request_digest, model.tree, model.files,
                model.bytes, model.run, model.framework, model.description, model.tags_json, model.properties_json,
                model.details_json, model.created, model.created_by)
      .run();
  return get(connection, model.workspace, model.name, model.version);
}

std::optional<Model> find_by_id(Connection& connection, std::string_view workspace, std::string_view id) {
  Statement row = connection.prepare(fmt::format("{} WHERE workspace = ? AND id = ?", kSelect));
  if (!row.bind_all(workspace, id).step()) return std::nullopt;
  return read(row).model;
}

Model get(Connection& connection, std::string_view workspace, std::string_view name, std::int64_t version) {
  Statement row = connection.prepare(fmt::format("{} WHERE workspace = ? AND name = ? {} ORDER BY version DESC LIMIT 1",
                                                 kSelect, version > 0 ? "AND version = ?" : ""));
  row.bind_all(workspace, name);
  if (version > 0) row.bind(version);
  if (row.step()) return read(row).model;
  throw base::Error(base::Code::not_found,
                    version > 0 ? fmt::format("the model '{}' has no version {}", base::printable(name), version)
                                : fmt::format("there is no model '{}'", base::printable(name)))
      .field(version > 0 ? "version" : "model")
      .hint("see: lathe model list");
}

void update(Connection& connection, const Model& model) {
  connection
      .prepare(
          "UPDATE models SET description = ?, tags_json = ?, properties_json = ?"
          " WHERE workspace = ? AND name = ? AND version = ?")
      .bind_all(model.description, model.tags_json, model.properties_json, model.workspace, model.name, model.version)
      .run();
}

bool remove(Connection& connection, std::string_view workspace, std::string_view name, std::int64_t version) {
  return connection.prepare("DELETE FROM models WHERE workspace = ? AND name = ? AND version = ?")
             .bind_all(workspace, name, version)
             .run() == 1;
}

Page<Model> list(Connection& connection, std::string_view workspace, const Filter& filter, int limit,
                 std::string_view cursor) {
  check_limit(limit);
  std::vector<std::string> values;
  const std::string where = conditions(filter, values);
  const std::string scope = fmt::format("models\n{}\n{}\n{}", workspace, where, fmt::join(values, "\n"));
  const std::int64_t before = cursor.empty() ? INT64_MAX : read_number_cursor(scope, cursor);
  Statement row = connection.prepare(
      fmt::format("{} WHERE workspace = ? AND sequence < ?{} ORDER BY sequence DESC LIMIT ?", kSelect, where));
  row.bind_all(workspace, before);
  for (const auto& value : values) row.bind(value);
  row.bind(limit + 1);
  std::vector<Row> rows;
  while (row.step()) rows.push_back(read(row));
  auto page = make_page(std::move(rows), limit, [&](const Row& last) { return make_cursor(scope, last.sequence); });
  Page<Model> result{{}, std::move(page.next)};
  for (Row& found : page.items) result.items.push_back(std::move(found.model));
  return result;
}

}  // namespace lathe::db::models

#include "db/computes.h"

#include "base/error.h"
#include "base/strings.h"

namespace lathe::db::computes {

namespace {

constexpr std::string_view kSelect =
    "SELECT workspace, name, provider, vm_size, min_nodes, max_nodes, idle_seconds, low_priority, created FROM "
    "computes";

model::ComputeTarget read(const Statement& row) {
  return {.workspace = row.text(0),
          .name = row.text(1),
          .provider = row.text(2),
          .vm_size = row.text(3),
          .min_nodes = static_cast<int>(row.integer(4)),
          .max_nodes = static_cast<int>(row.integer(5)),
          .idle_seconds = row.integer(6),
          .priority = row.integer(7) != 0 ? model::VmPriority::low_priority : model::VmPriority::dedicated,
          .created = row.time(8)};
}

std::vector<model::ComputeTarget> read_all(Statement rows) {
  std::vector<model::ComputeTarget> all;
  while (rows.step()) all.push_back(read(rows));
  return all;
}

}  // namespace

bool insert_or_update(Connection& connection, const model::ComputeTarget& target) {
  const bool is_new = !find(connection, target.workspace, target.name);
  connection
      .prepare(
          "INSERT INTO computes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, name) DO UPDATE SET"
          " provider = excluded.provider, vm_size = excluded.vm_size, min_nodes = excluded.min_nodes,"
          " max_nodes = excluded.max_nodes, idle_seconds = excluded.idle_seconds,"
          " low_priority = excluded.low_priority")
      .bind_all(target.workspace, target.name, target.provider, target.vm_size, target.min_nodes, target.max_nodes,
                target.idle_seconds, target.priority == model::VmPriority::low_priority, target.created)
      .run();
  return is_new;
}

std::optional<model::ComputeTarget> find(Connection& connection, std::string_view workspace, std::string_view name) {
  Statement row = connection.prepare(fmt::format("{} WHERE workspace = ? AND name = ?", kSelect));
  if (!row.bind_all(workspace, name).step()) return std::nullopt;
  return read(row);
}

model::ComputeTarget get(Connection& connection, std::string_view workspace, std::string_view name) {
  if (auto target = find(connection, workspace, name)) return *target;
  throw base::Error(base::Code::not_found, fmt::format("there is no compute target '{}'", base::printable(name)))
      .field("compute")
      .hint("see: lathe compute list");
}

std::vector<model::ComputeTarget> list_after(Connection& connection, std::string_view workspace, std::string_view after,
                                             int limit) {
  Statement rows =
      connection.prepare(fmt::format("{} WHERE workspace = ? AND name > ? ORDER BY name LIMIT ?", kSelect));
  rows.bind_all(workspace, after, limit);
  return read_all(std::move(rows));
}

std::vector<model::ComputeTarget> list_all(Connection& connection) {
  return read_all(connection.prepare(fmt::format("{} ORDER BY workspace, name", kSelect)));
}

bool remove(Connection& connection, std::string_view workspace, std::string_view name) {
  return connection.prepare("DELETE FROM computes WHERE workspace = ? AND name = ?").bind_all(workspace, name).run() ==
         1;
}

}  // namespace lathe::db::computes

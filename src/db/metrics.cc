#include "db/metrics.h"

namespace lathe::db::metrics {

namespace {

void name_block(Connection& connection, std::int64_t run, std::int64_t block, const std::set<std::string>& names) {
  for (const auto& name : names)
    connection.prepare("INSERT OR IGNORE INTO metric_names (run, name, block) VALUES (?, ?, ?)")
        .bind_all(run, name, block)
        .run();
}

// Appends to the last block of the run and gives its id; 0 when the block must have a row of its own.
std::int64_t append_to_tail(Connection& connection, std::int64_t run, const Block& block) {
  if (block.packed || block.size > kTailBytes) return 0;
  Statement row =
      connection.prepare("SELECT id, size, packed, bytes FROM metric_blocks WHERE run = ? ORDER BY id DESC LIMIT 1");
  if (!row.bind(run).step() || row.integer(2) != 0 || row.integer(1) + block.size > kTailBytes) return 0;
  const std::int64_t id = row.integer(0);
  const std::string bytes = row.blob(3) + block.bytes;
  connection.prepare("UPDATE metric_blocks SET records = records + ?, size = ?, bytes = ? WHERE id = ?")
      .bind_all(block.records, static_cast<std::int64_t>(bytes.size()))
      .bind_blob(bytes)
      .bind(id)
      .run();
  return id;
}

}  // namespace

Source find_source(Connection& connection, std::int64_t run, std::string_view name) {
  Statement row = connection.prepare("SELECT offset, lines, skipped FROM metric_sources WHERE run = ? AND source = ?");
  if (!row.bind_all(run, name).step()) return {};
  return {row.integer(0), row.integer(1), row.integer(2)};
}

void store_source(Connection& connection, std::int64_t run, std::string_view name, const Source& source) {
  connection
      .prepare("INSERT OR REPLACE INTO metric_sources (run, source, offset, lines, skipped) VALUES (?, ?, ?, ?, ?)")
      .bind_all(run, name, source.offset, source.lines, source.skipped)
      .run();
}

void append(Connection& connection, std::int64_t run, const Block& block) {
  std::int64_t id = append_to_tail(connection, run, block);
  if (id == 0) {
    connection.prepare("INSERT INTO metric_blocks (run, records, size, packed, bytes) VALUES (?, ?, ?, ?, ?)")
        .bind_all(run, block.records, block.size, block.packed)
        .bind_blob(block.bytes)
        .run();
    id = connection.last_insert_id();
  }
  name_block(connection, run, id, block.names);
}

std::vector<Block> blocks_after(Connection& connection, std::int64_t run, std::int64_t after,
                                const std::optional<std::string>& name, std::int64_t most_bytes) {
  constexpr std::string_view kAll =
      "SELECT id, records, size, packed, bytes FROM metric_blocks WHERE run = ? AND id > ? ORDER BY id";
  constexpr std::string_view kNamed =
      "SELECT b.id, b.records, b.size, b.packed, b.bytes FROM metric_names AS n CROSS JOIN metric_blocks AS b"
      " ON b.id = n.block WHERE n.run = ? AND n.block > ? AND n.name = ? ORDER BY n.block";
  Statement row = connection.prepare(name ? kNamed : kAll);
  row.bind_all(run, after);
  if (name) row.bind(*name);
  std::vector<Block> found;
  std::int64_t total = 0;
  while ((found.empty() || total < most_bytes) && row.step()) {
    found.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3) != 0, row.blob(4), {}});
    total += found.back().size;
  }
  return found;
}

std::vector<std::string> names(Connection& connection, std::int64_t run) {
  Statement row = connection.prepare("SELECT DISTINCT name FROM metric_names WHERE run = ? ORDER BY name");
  row.bind(run);
  std::vector<std::string> found;
  while (row.step()) found.push_back(row.text(0));
  return found;
}

}  // namespace lathe::db::metrics

#include "db/logs.h"

#include "base/error.h"
#include "base/strings.h"

namespace lathe::db::logs {

namespace {

constexpr std::string_view kSelect = "SELECT attempt, name, number, offset, size, digest FROM log_segments";

Segment read(const Statement& row) {
  return {.attempt = static_cast<int>(row.integer(0)),
          .name = row.text(1),
          .number = static_cast<int>(row.integer(2)),
          .offset = row.integer(3),
          .size = row.integer(4),
          .digest = row.digest(5)};
}

}  // namespace

bool insert(Connection& connection, std::int64_t run, const Segment& segment) {
  if (const auto stored = find(connection, run, segment.attempt, segment.name, segment.number)) {
    if (*stored == segment) return false;
    throw base::Error(base::Code::conflict, fmt::format("segment {} of log '{}' is sealed with another content",
                                                        segment.number, base::printable(segment.name)));
  }
  connection
      .prepare(
          "INSERT INTO log_segments (run, attempt, name, number, offset, size, digest) VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind_all(run, segment.attempt, segment.name, segment.number, segment.offset, segment.size, segment.digest)
      .run();
  return true;
}

std::optional<Segment> find(Connection& connection, std::int64_t run, int attempt, std::string_view name, int number) {
  Statement row =
      connection.prepare(fmt::format("{} WHERE run = ? AND attempt = ? AND name = ? AND number = ?", kSelect));
  if (!row.bind_all(run, attempt, name, number).step()) return std::nullopt;
  return read(row);
}

std::vector<Segment> list(Connection& connection, std::int64_t run, int attempt, std::string_view name) {
  Statement row =
      connection.prepare(fmt::format("{} WHERE run = ? AND attempt = ? AND name = ? ORDER BY number", kSelect));
  row.bind_all(run, attempt, name);
  std::vector<Segment> all;
  while (row.step()) all.push_back(read(row));
  return all;
}

}  // namespace lathe::db::logs

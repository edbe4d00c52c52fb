#include "db/audit.h"

#include "base/error.h"
#include "db/cursor.h"

namespace lathe::db::audit {

namespace {

constexpr std::string_view kSelect = "SELECT id, at, actor, token_id, source, action, object, detail, hash FROM audit";

// Every field with its length before it: no two rows have the same bytes.
std::string canonical(const AuditEntry& entry) {
  std::string bytes = fmt::format("{} {} {}", entry.id, entry.at.micros, entry.token_id);
  for (const std::string* field : {&entry.actor, &entry.source, &entry.action, &entry.object, &entry.detail}) {
    bytes += fmt::format(" {}:{}", field->size(), *field);
  }
  return bytes;
}

base::Digest link(const base::Digest& previous, const AuditEntry& entry) {
  base::Sha256 hash;
  hash.update(previous.bytes.data(), previous.bytes.size());
  hash.update(canonical(entry));
  return hash.finish();
}

AuditEntry read(const Statement& row) {
  return {.id = row.integer(0),
          .at = row.time(1),
          .actor = row.text(2),
          .token_id = row.integer(3),
          .source = row.text(4),
          .action = row.text(5),
          .object = row.text(6),
          .detail = row.text(7)};
}

[[noreturn]] void broken(std::int64_t id, std::string_view how) {
  throw base::Error(base::Code::corrupt, fmt::format("the audit trail is broken at row {}: {}", id, how))
      .hint("somebody has changed the database by hand; compare it with a backup");
}

std::int64_t last_given_id(Connection& connection) {
  Statement row = connection.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'audit'");
  return row.step() ? row.integer(0) : 0;
}

}  // namespace

void append(Connection& connection, AuditEntry& entry) {
  base::Digest previous;
  entry.id = 1;
  {
    Statement last = connection.prepare("SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1");
    if (last.step()) {
      entry.id = last.integer(0) + 1;
      previous = last.digest(1);
    }
  }
  connection
      .prepare(
          "INSERT INTO audit (id, at, actor, token_id, source, action, object, detail, hash)"
          " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind_all(entry.id, entry.at, entry.actor, entry.token_id, entry.source, entry.action, entry.object, entry.detail,
                link(previous, entry))
      .run();
}

void append(Connection& connection, AuditEntry&& entry) { append(connection, entry); }

Page<AuditEntry> list(Connection& connection, int limit, std::string_view cursor) {
  check_limit(limit);
  const std::int64_t before = cursor.empty() ? INT64_MAX : read_number_cursor("audit", cursor);
  Statement row = connection.prepare(fmt::format("{} WHERE id < ? ORDER BY id DESC LIMIT ?", kSelect));
  row.bind_all(before, limit + 1);
  std::vector<AuditEntry> found;
  while (row.step()) found.push_back(read(row));
  return make_page(std::move(found), limit, [](const AuditEntry& last) { return make_cursor("audit", last.id); });
}

std::int64_t verify(Connection& connection) {
  Statement row = connection.prepare(fmt::format("{} ORDER BY id", kSelect));
  base::Digest previous;
  std::int64_t expected = 0;
  while (row.step()) {
    const AuditEntry entry = read(row);
    if (entry.id != ++expected) broken(expected, "it is missing");
    if (row.digest(8) != link(previous, entry)) broken(entry.id, "its hash does not fit");
    previous = row.digest(8);
  }
  if (last_given_id(connection) != expected) broken(expected + 1, "the end is missing");
  return expected;
}

}  // namespace lathe::db::audit

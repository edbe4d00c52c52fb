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

constexpr std::string_view kTrimAction = "audit.trim";

struct Anchor {
  std::int64_t id = 0;
  base::Digest hash;
  std::string text() const { return fmt::format("through {} {}", id, hash.hex()); }
};

Anchor read_anchor(Connection& connection) {
  Statement row = connection.prepare("SELECT id, hash FROM audit_anchor");
  return row.step() ? Anchor{row.integer(0), row.digest(1)} : Anchor{};
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
    // The newest row is never trimmed: a trim ends with a row of its own.
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
  const Anchor anchor = read_anchor(connection);
  Statement row = connection.prepare(fmt::format("{} ORDER BY id", kSelect));
  base::Digest previous = anchor.hash;
  std::int64_t expected = anchor.id, count = 0;
  bool is_attested = anchor.id == 0;
  for (; row.step(); ++count) {
    const AuditEntry entry = read(row);
    if (entry.id != ++expected) broken(expected, "it is missing");
    if (row.digest(8) != link(previous, entry)) broken(entry.id, "its hash does not fit");
    previous = row.digest(8);
    is_attested = is_attested || (entry.action == kTrimAction && entry.detail == anchor.text());
  }
  if (last_given_id(connection) != expected) broken(expected + 1, "the end is missing");
  if (!is_attested) broken(anchor.id, "the trail was cut there, and does not say so");
  return count;
}

std::int64_t trim(Connection& connection, base::UtcTime before, std::int64_t most, base::UtcTime now) {
  Anchor anchor = read_anchor(connection);
  const std::int64_t first = anchor.id;
  {
    // From the old end to the first row that is young enough, whatever clocks did later; the last row stays.
    Statement row = connection.prepare(
        "SELECT id, at, hash FROM audit WHERE id < (SELECT max(id) FROM audit) ORDER BY id LIMIT ?");
    row.bind(most);
    while (row.step() && row.time(1).micros < before.micros) anchor = {row.integer(0), row.digest(2)};
  }
  if (anchor.id == first) return 0;
  connection.prepare("DELETE FROM audit WHERE id <= ?").bind_all(anchor.id).run();
  connection.prepare("DELETE FROM audit_anchor").run();
  connection.prepare("INSERT INTO audit_anchor (id, hash) VALUES (?, ?)").bind_all(anchor.id, anchor.hash).run();
  append(connection, AuditEntry{.id = 0,
                                .at = now,
                                .actor = "server",
                                .token_id = 0,
                                .source = "retention",
                                .action = std::string(kTrimAction),
                                .object = "audit",
                                .detail = anchor.text()});
  return anchor.id - first;
}

}  // namespace lathe::db::audit

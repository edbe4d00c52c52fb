#include "db/tokens.h"

namespace lathe::db::tokens {

namespace {

constexpr std::string_view kSelect =
    "SELECT id, name, role, workspace, created, expires, last_used, revoked FROM tokens";

Token read(const Statement& row) {
  return {.id = row.integer(0),
          .name = row.text(1),
          .role = row.text(2),
          .workspace = row.text(3),
          .created = row.time(4),
          .expires = row.optional_time(5),
          .last_used = row.optional_time(6),
          .revoked = row.optional_time(7)};
}

}  // namespace

std::int64_t insert(Connection& connection, Token& token, const base::Digest& hash) {
  connection
      .prepare(
          "INSERT INTO tokens (name, hash, role, workspace, created, expires, last_used, revoked)"
          " VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .bind_all(token.name, hash, token.role, token.workspace, token.created, token.expires, token.last_used,
                token.revoked)
      .run();
  return token.id = connection.last_insert_id();
}

std::optional<Token> find_by_hash(Connection& connection, const base::Digest& hash) {
  Statement row = connection.prepare(fmt::format("{} WHERE hash = ?", kSelect));
  if (!row.bind(hash).step()) return std::nullopt;
  return read(row);
}

std::optional<Token> find(Connection& connection, std::int64_t id) {
  Statement row = connection.prepare(fmt::format("{} WHERE id = ?", kSelect));
  if (!row.bind(id).step()) return std::nullopt;
  return read(row);
}

std::vector<Token> list(Connection& connection) {
  Statement row = connection.prepare(fmt::format("{} ORDER BY id DESC", kSelect));
  std::vector<Token> all;
  while (row.step()) all.push_back(read(row));
  return all;
}

std::vector<Token> list_before(Connection& connection, std::int64_t before, int limit) {
  Statement row = connection.prepare(fmt::format("{} WHERE id < ? ORDER BY id DESC LIMIT ?", kSelect));
  row.bind_all(before, limit);
  std::vector<Token> found;
  while (row.step()) found.push_back(read(row));
  return found;
}

bool revoke(Connection& connection, std::int64_t id, base::UtcTime now) {
  return connection.prepare("UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ?").bind_all(now, id).run() ==
         1;
}

void make_admin(Connection& connection, std::int64_t id, std::string_view name) {
  connection
      .prepare(
          "UPDATE tokens SET name = ?, role = 'admin', workspace = '', expires = NULL, revoked = NULL WHERE id = ?")
      .bind_all(name, id)
      .run();
}

void touch(Connection& connection, std::int64_t id, base::UtcTime now) {
  connection.prepare("UPDATE tokens SET last_used = ? WHERE id = ?").bind_all(now, id).run();
}

}  // namespace lathe::db::tokens

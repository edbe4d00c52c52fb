// Rows of `tokens`: people's and programs' credentials. Only the hash of a token is ever stored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/sqlite.h"

namespace lathe::db::tokens {

struct Token {
  std::int64_t id = 0;
  std::string name;
  std::string role;
  std::string workspace;  // empty: all
  base::UtcTime created;
  std::optional<base::UtcTime> expires = {}, last_used = {}, revoked = {};
};

// Gives the token its id. Throws conflict when the hash is taken.
std::int64_t insert(Connection& connection, Token& token, const base::Digest& hash);
// Also an expired or revoked one: the caller decides.
std::optional<Token> find_by_hash(Connection& connection, const base::Digest& hash);
std::optional<Token> find(Connection& connection, std::int64_t id);
// Newest first; there are few.
std::vector<Token> list(Connection& connection);
// A page of the same order: ids below `before`.
std::vector<Token> list_before(Connection& connection, std::int64_t before, int limit);
// False when there is none; a second revocation keeps the first time.
bool revoke(Connection& connection, std::int64_t id, base::UtcTime now);
// The caller keeps this coarse: a write for every request would be a commit for every request.
// As if it had always been the admin's: never revoked, without an end, for all workspaces.
void make_admin(Connection& connection, std::int64_t id, std::string_view name);
void touch(Connection& connection, std::int64_t id, base::UtcTime now);

}  // namespace lathe::db::tokens

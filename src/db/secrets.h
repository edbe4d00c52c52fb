// Rows of `secrets`: encrypted values by workspace and name. Nothing here can read them (docs/formats/secrets.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/page.h"
#include "db/sqlite.h"

namespace lathe::db::secrets {

struct Secret {
  std::string name;
  std::string key_id;       // of the key that wraps the data key
  std::string wrapped_key;  // bytes
  std::string sealed;       // bytes
  base::UtcTime created, updated;
};

// A later value replaces the earlier one; `created` stays.
void upsert(Connection& connection, std::string_view workspace, const Secret& secret);
std::optional<Secret> find(Connection& connection, std::string_view workspace, std::string_view name);
// By name.
Page<Secret> list(Connection& connection, std::string_view workspace, int limit, std::string_view cursor = {});
// False when there is none.
bool remove(Connection& connection, std::string_view workspace, std::string_view name);

// The part of a row that a new key changes, with its place.
struct Wrapped {
  std::string workspace, name, key_id, wrapped_key;
};
// Rows that another key than this one wraps, by workspace and name, behind `after`.
std::vector<Wrapped> wrapped_otherwise(Connection& connection, std::string_view key_id, const Wrapped& after,
                                       int limit);
// False when the row is not what `before` says any more.
bool rewrap(Connection& connection, const Wrapped& before, std::string_view key_id, std::string_view wrapped_key);
// Ids of keys that rows name.
std::vector<std::string> keys_in_use(Connection& connection);

}  // namespace lathe::db::secrets

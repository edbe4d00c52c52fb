// Rows of `environment_definitions` and `environment_locks`: what was asked to be built, and what it was resolved to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite.h"

namespace lathe::db::environment_locks {

void put_definition(Connection& connection, const base::Digest& digest, std::string_view definition_json);
// Throws not_found.
std::string get_definition(Connection& connection, const base::Digest& digest);

struct Locked {
  base::Digest lock = {};
  std::string substitutions_json = "[]";
  base::UtcTime locked = {};
  std::string locked_by = {};
  bool operator==(const Locked&) const = default;
};
// A later lock of the same key replaces the earlier one. `files` are the blobs that the lock needs beside its own.
void put(Connection& connection, std::string_view workspace, const base::Digest& key, const Locked& locked,
         const std::vector<base::Digest>& files);
std::optional<Locked> find(Connection& connection, std::string_view workspace, const base::Digest& key);
// Whether some row or some run names it: others are no locks, whatever the blob holds.
bool is_lock(Connection& connection, const base::Digest& lock);

}  // namespace lathe::db::environment_locks

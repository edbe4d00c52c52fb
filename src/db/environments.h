// Rows of `environments`: registered definitions, each version immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite.h"

namespace lathe::db::environments {

struct Environment {
  std::string workspace = {}, name = {};
  std::int64_t version = 0;
  bool latest = false;
  std::string definition_json = {};
  base::Digest digest = {};  // of the definition in canonical form
  base::UtcTime created = {};
  std::string created_by = {};
  bool operator==(const Environment&) const = default;
};

// Gives it the next number of its name.
Environment insert(Connection& connection, Environment environment);
// `version` 0 is the newest.
std::optional<Environment> find(Connection& connection, std::string_view workspace, std::string_view name,
                                std::int64_t version = 0);
// The newest of each name, by name: those after `after`, at most `limit`.
std::vector<Environment> list_latest_after(Connection& connection, std::string_view workspace, std::string_view after,
                                           int limit);

}  // namespace lathe::db::environments

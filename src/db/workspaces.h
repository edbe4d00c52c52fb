// Rows of `workspaces`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite.h"

namespace lathe::db::workspaces {

struct Workspace {
  std::string name;
  std::string subscription_id;
  std::string resource_group;
  base::UtcTime created;
  bool operator==(const Workspace&) const = default;
};

std::optional<Workspace> find(Connection& connection, std::string_view name);
// Throws not_found.
Workspace get(Connection& connection, std::string_view name);
// False when it was there already; it is left as it is.
bool insert_if_absent(Connection& connection, const Workspace& workspace);
// By name: those after `after`, at most `limit`.
std::vector<Workspace> list_after(Connection& connection, std::string_view after, int limit);

}  // namespace lathe::db::workspaces

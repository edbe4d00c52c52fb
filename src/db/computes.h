// Rows of `computes`.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "db/sqlite.h"
#include "model/compute.h"

namespace lathe::db::computes {

// True when it is new; else everything but `created` is replaced.
bool insert_or_update(Connection& connection, const model::ComputeTarget& target);
std::optional<model::ComputeTarget> find(Connection& connection, std::string_view workspace, std::string_view name);
// Throws not_found.
model::ComputeTarget get(Connection& connection, std::string_view workspace, std::string_view name);
// By name: those after `after`, at most `limit`.
std::vector<model::ComputeTarget> list_after(Connection& connection, std::string_view workspace, std::string_view after,
                                             int limit);
// Of all workspaces, for the scheduler at start.
std::vector<model::ComputeTarget> list_all(Connection& connection);
// False when there was none.
bool remove(Connection& connection, std::string_view workspace, std::string_view name);

}  // namespace lathe::db::computes

// Rows of `node_claims`: the nodes of a gang whose runner has claimed. An attempt on one node needs none: there the
// attempt's own time of claim says it.
#pragma once

#include <map>
#include <set>

#include "db/sqlite.h"

namespace lathe::db::node_claims {

void insert_if_absent(Connection& connection, std::int64_t run, int attempt, int node);
std::set<int> list(Connection& connection, std::int64_t run, int attempt);
// Of the current attempts of all runs that are not over, by the run's sequence.
std::map<std::int64_t, std::set<int>> of_live_runs(Connection& connection);

}  // namespace lathe::db::node_claims

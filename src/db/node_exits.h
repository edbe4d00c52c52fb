// Rows of `node_exits`: how the nodes of a gang ended, until the last of them has and the attempt itself gets its exit.
#pragma once

#include <map>
#include <vector>

#include "db/sqlite.h"
#include "model/run.h"

namespace lathe::db::node_exits {

// The first report of a node counts; a repeated one changes nothing.
void insert_if_absent(Connection& connection, std::int64_t run, int attempt, int node, const model::ExitRecord& exit);
bool contains(Connection& connection, std::int64_t run, int attempt, int node);
std::map<int, model::ExitRecord> by_node(Connection& connection, std::int64_t run, int attempt);
// Of the current attempts of all runs that are not over, by the run's sequence.
std::map<std::int64_t, std::map<int, model::ExitRecord>> of_live_runs(Connection& connection);

}  // namespace lathe::db::node_exits

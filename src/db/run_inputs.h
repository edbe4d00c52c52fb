// Rows of `run_inputs`: what each input of a run turned out to be.
#pragma once

#include <vector>

#include "db/sqlite.h"
#include "model/run_data.h"

namespace lathe::db::run_inputs {

void put(Connection& connection, std::int64_t run, const model::ResolvedInputs& inputs);
model::ResolvedInputs list(Connection& connection, std::int64_t run);
// The trees that runs which are not over read or will read.
std::vector<base::Digest> live_trees(Connection& connection);

}  // namespace lathe::db::run_inputs

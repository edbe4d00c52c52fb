// Rows of `deleted_runs`: ids that were used and are not given out again while a submit that was lost on its way may still
// arrive. They are kept for 30 days.
#pragma once

#include "base/time.h"
#include "db/sqlite.h"
#include "model/run.h"

namespace lathe::db::deleted_runs {

// Forgets the old ones as well.
void add(Connection& connection, const model::RunId& id, base::UtcTime now);
bool contains(Connection& connection, const model::RunId& id);

}  // namespace lathe::db::deleted_runs

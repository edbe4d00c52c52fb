// Brings a database to the schema of this program: forward-only migrations, one transaction each, so that a kill in
// the middle leaves the version before or after, never something between. PRAGMA user_version holds the version.
#pragma once

#include <functional>
#include <span>

#include "db/embedded.h"
#include "db/sqlite.h"

namespace lathe::db {

int schema_version(Connection& connection);
// Throws unsupported for a newer database and for a file that is not ours. `before_commit` is for tests that cut a
// migration short.
void migrate(Connection& connection, std::span<const Migration> steps = migrations(),
             const std::function<void(int version)>& before_commit = {});

}  // namespace lathe::db

// How the last server that had this database open went away: after a crash the file is checked (db/integrity.h).
#pragma once

#include "db/sqlite.h"

namespace lathe::db {

// True for a new database.
bool stopped_cleanly(Connection& connection);
void set_stopped(Connection& connection, bool cleanly);

}  // namespace lathe::db

// Is this database whole? Throws corrupt with the first findings.
#pragma once

#include "db/sqlite.h"

namespace lathe::db {

// integrity_check and foreign_key_check: reads every page and every index.
void check_integrity(Connection& connection);

}  // namespace lathe::db

// Before a database is opened after a kill or a power cut: can its log (lathe.db-wal) be replayed up to the last
// acknowledged commit? SQLite takes the first frame that is not whole for the end of the log, which is right for a
// transaction that was torn by the cut, and wrong for one that was acknowledged and damaged later: that one and all
// after it would be gone without a word.
//
// It is damage, not a torn end, when the index (lathe.db-shm) knows of a later commit of the same log (log_format.h
// says why it can be believed), or when a whole transaction lies behind the one that is not: the writer syncs each
// before it begins the next. Only damage of the very last transaction, together with a power cut that lost the index,
// cannot be told from a torn one. Reads the log once, 4 MiB as a rule. Called by the one server that holds the state
// folder, before SQLite.
#pragma once

#include <filesystem>

namespace lathe::db {

// Throws corrupt.
void check_log(const std::filesystem::path& database);

}  // namespace lathe::db

// SQLite's file layer with a look at every page: our VFS "lathe", a shim over the machine's own.
//
// - lathe.db: a page gets its checksum (db/page_checksum.h) when it is written and must have it when it is read.
// - lathe.db-wal: a page that is read from the log is checked with the sums that SQLite writes into each frame but
//   looks at only when it replays a log. So a checkpoint never seals a page that was damaged in the log.
// Everything else (journals, temporary files, locks, the index of the log) goes straight through.
//
// Whether a file has checksums is decided when it is opened, and stays: a new, empty file has; another has them when
// its header says that 16 bytes of each page are ours, or when its first page has our mark (one of the two survives a
// flip). A database of Lathe 0.1 has none until db/page_conversion.h has given them; a file that says otherwise while
// it is being written is refused, so that no page can go unsealed and no byte of SQLite's be overwritten.
//
// Any thread, as SQLite itself. Fails with SQLITE_IOERR_DATA, which db::Connection translates to `corrupt`.
#pragma once

#include <string>

namespace lathe::db {

// Registers the VFS at the first call; its name for sqlite3_open_v2.
const char* checked_vfs();
// What this thread found damaged since it asked last; empty when nothing.
std::string take_damage();

}  // namespace lathe::db

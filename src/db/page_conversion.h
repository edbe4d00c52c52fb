// Gives the pages of a database of Lathe 0.1 their checksums (db/page_checksum.h): it is rewritten beside itself, as
// FILE.sealed, with room for them, and renamed when it is whole and on disk. The old file is not changed before that,
// so that a kill or a full disk at any moment costs nothing: the next start removes what is left and begins again.
// Called by the one server that holds the state folder, before it opens the file; the schema is this program's. Needs
// as much room as the database has. Throws no_space, corrupt (it is checked first: damage must not get a checksum) and
// unavailable (another process reads it).
#pragma once

#include <filesystem>

namespace lathe::db {

void add_checksums(const std::filesystem::path& file);

}  // namespace lathe::db

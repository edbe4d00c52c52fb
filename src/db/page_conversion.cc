#include "db/page_conversion.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "base/error.h"
#include "base/log.h"
#include "db/integrity.h"
#include "db/sqlite.h"
#include "sys/file_system.h"

namespace lathe::db {

namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Error;

fs::path sealed_name(const fs::path& file) { return file.string() + ".sealed"; }

void remove_leftovers(const fs::path& sealed) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(sealed.string() + suffix, ignored);
}

void require_room(const fs::path& file) {
  struct statvfs disk {};
  const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (::statvfs(folder.c_str(), &disk) != 0) throw base::errno_error(errno, folder.string());
  const std::uintmax_t room = static_cast<std::uintmax_t>(disk.f_bavail) * disk.f_frsize;
  // Rewritten, it is about as large as before; a little more because of the checksums.
  const std::uintmax_t needed = fs::file_size(file) + fs::file_size(file) / 64 + (1 << 20);
  if (room >= needed) return;
  throw Error(Code::no_space,
              fmt::format("this version gives every page of the database a checksum, and needs {} MiB beside {} once; "
                          "{} MiB are free",
                          (needed >> 20) + 1, file.string(), room >> 20))
      .hint("free some space on the disk of the state folder, then start again; the database is unchanged");
}

// Out of the log and alone: a reader that stayed would mix the new file with the old one's log.
void leave_log(Connection& connection) {
  Statement mode = connection.prepare("PRAGMA journal_mode=DELETE");
  if (!mode.step() || mode.text(0) != "delete") {
    throw Error(Code::unavailable, "another process has the database open while it gets its checksums")
        .hint("wait until that process (a backup?) is done, then start the server again");
  }
}

void write_sealed(const fs::path& file, const fs::path& sealed) {
  Connection old(file, Connection::Mode::read_write);
  check_integrity(old);
  leave_log(old);
  old.make_room_for_checksums();
  // Made here, empty, so that it is private from the beginning.
  base::value_or_throw(sys::linux_file_system().create(sealed.string(), 0600));
  old.prepare("VACUUM INTO ?").bind(sealed.string()).run();
}

void replace(const fs::path& file, const fs::path& sealed) {
  {
    Connection copy(sealed, Connection::Mode::read_only);
    check_integrity(copy);
    if (!copy.has_checksums()) throw Error(Code::internal, "the rewritten database has no checksums");
  }
  auto& disk = sys::linux_file_system();
  base::value_or_throw(disk.sync_file(sealed.string()));
  base::value_or_throw(disk.rename(sealed.string(), file.string()));
  base::value_or_throw(disk.sync_directory(file.has_parent_path() ? file.parent_path().string() : "."));
}

}  // namespace

void add_checksums(const fs::path& file) {
  const fs::path sealed = sealed_name(file);
  remove_leftovers(sealed);
  require_room(file);
  base::log::info("database-gets-checksums", {{"bytes", fs::file_size(file)}});
  try {
    write_sealed(file, sealed);
    replace(file, sealed);
  } catch (...) {
    remove_leftovers(sealed);
    throw;
  }
  base::log::info("database-has-checksums", {{"bytes", fs::file_size(file)}});
}

}  // namespace lathe::db

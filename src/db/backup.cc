#include "db/backup.h"

#include <sqlite3.h>

#include "db/audit.h"
#include "db/integrity.h"
#include "db/migrate.h"
#include "db/runs.h"
#include "sys/file_system.h"

namespace lathe::db {

namespace {

using base::Code;
using base::Error;
namespace fs = std::filesystem;

fs::path partial(const fs::path& target) { return target.string() + ".partial"; }

// One step copies all pages inside one read transaction: a busy writer cannot make it start over.
void copy_pages(Connection& from, Connection& to) {
  sqlite3_backup* backup = sqlite3_backup_init(to.raw(), "main", from.raw(), "main");
  if (backup == nullptr) to.fail(sqlite3_extended_errcode(to.raw()), "starting a backup");
  sqlite3_backup_step(backup, -1);
  const int code = sqlite3_backup_finish(backup);
  if (code != SQLITE_OK) to.fail(code, "copying the database");
}

void remove_partial(const fs::path& target) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(partial(target).string() + suffix, ignored);
}

void copy_database(const fs::path& file, const fs::path& target) {
  Connection from(file, Connection::Mode::read_only);
  if (schema_version(from) == 0)
    throw Error(Code::unsupported, fmt::format("{} is not a database of Lathe", file.string()));
  {
    const auto mode = from.has_checksums() ? Connection::Mode::read_write : Connection::Mode::unsealed_copy;
    Connection to(partial(target), mode);
    to.execute("PRAGMA journal_mode=DELETE");  // everything in the one file, synced when the copy returns
    copy_pages(from, to);
  }
  fs::rename(partial(target), target);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  base::value_or_throw(sys::linux_file_system().sync_directory(folder.string()));
}

}  // namespace

base::Result<> backup_database(const fs::path& file, const fs::path& target) {
  if (std::error_code ignored; fs::exists(target, ignored)) {
    return base::fail(Error(Code::conflict, fmt::format("{} is there already", target.string()))
                          .hint("choose a new folder for each backup"));
  }
  remove_partial(target);
  try {
    copy_database(file, target);
    return {};
  } catch (Error& error) {
    remove_partial(target);
    return base::fail(std::move(error).during(fmt::format("backing up {}", file.string())));
  } catch (const fs::filesystem_error& error) {
    remove_partial(target);
    return base::fail(base::errno_error(error.code().value(), fmt::format("backing up {}", file.string())));
  }
}

base::Result<CheckReport> check_database(const fs::path& file) {
  try {
    Connection connection(file, Connection::Mode::read_only);
    CheckReport report;
    report.schema_version = schema_version(connection);
    const int known = static_cast<int>(migrations().size());
    if (report.schema_version != known) {
      throw Error(Code::unsupported,
                  fmt::format("its schema is {}, this program knows {}", report.schema_version, known))
          .hint("check it with the version of Lathe that wrote it, or start that server once to migrate it");
    }
    check_integrity(connection);
    report.audit_rows = audit::verify(connection);
    report.runs = runs::counts(connection).total;
    return report;
  } catch (Error& error) {
    return base::fail(std::move(error).during(fmt::format("checking {}", file.string())));
  }
}

}  // namespace lathe::db

#include "db/migrate.h"

#include "base/error.h"
#include "base/log.h"

namespace lathe::db {

namespace {

using base::Code;
using base::Error;

bool is_empty(Connection& connection) { return !connection.prepare("SELECT 1 FROM sqlite_master LIMIT 1").step(); }

void check_versions(Connection& connection, int version, int known) {
  if (version > known) {
    throw Error(
        Code::unsupported,
        fmt::format("this database was written by a newer Lathe (schema {}, this program knows {})", version, known))
        .hint("use that newer version, or restore a backup made before the upgrade: lathe restore");
  }
  if (version == 0 && !is_empty(connection)) {
    throw Error(Code::unsupported, "this SQLite file is not a database of Lathe")
        .hint("choose another state folder with --state");
  }
}

void check_references(Connection& connection, std::string_view name) {
  if (connection.prepare("PRAGMA foreign_key_check").step()) {
    throw Error(Code::corrupt, fmt::format("migration {} would leave rows without their parents", name))
        .hint("the database is unchanged; go on with the version of Lathe that wrote it");
  }
}

}  // namespace

int schema_version(Connection& connection) {
  Statement statement = connection.prepare("PRAGMA user_version");
  statement.step();
  return static_cast<int>(statement.integer(0));
}

void migrate(Connection& connection, std::span<const Migration> steps,
             const std::function<void(int version)>& before_commit) {
  const int from = schema_version(connection);
  const int known = static_cast<int>(steps.size());
  check_versions(connection, from, known);
  if (from == known) return;
  // A migration may rebuild a table that others refer to; references are checked as a whole before each commit.
  connection.execute("PRAGMA foreign_keys=OFF");
  for (int version = from + 1; version <= known; ++version) {
    const Migration& step = steps[version - 1];
    transaction(connection, [&](Connection& open) {
      open.execute(std::string(step.sql));
      open.execute(fmt::format("PRAGMA user_version={}", version));
      check_references(open, step.name);
      if (before_commit) before_commit(version);
    });
    base::log::info("database-migrated", {{"to", step.name}});
  }
  connection.execute("PRAGMA foreign_keys=ON");
}

}  // namespace lathe::db

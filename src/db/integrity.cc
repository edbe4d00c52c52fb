#include "db/integrity.h"

#include "base/error.h"

namespace lathe::db {

namespace {

[[noreturn]] void damaged(const std::string& what) {
  throw base::Error(base::Code::corrupt, "the database is damaged: " + what)
      .hint("keep a copy of lathe.db and lathe.db-wal, then restore a backup: lathe restore");
}

}  // namespace

void check_integrity(Connection& connection) {
  Statement check = connection.prepare("PRAGMA integrity_check(3)");
  std::string findings;
  while (check.step()) {
    const std::string line = check.text(0);
    if (line != "ok") findings += (findings.empty() ? "" : "; ") + line;
  }
  if (!findings.empty()) damaged(findings);
  Statement references = connection.prepare("PRAGMA foreign_key_check");
  if (references.step())
    damaged(fmt::format("a row of {} has no parent in {}", references.text(0), references.text(2)));
}

}  // namespace lathe::db

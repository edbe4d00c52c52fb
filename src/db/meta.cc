#include "db/meta.h"

namespace lathe::db {

bool stopped_cleanly(Connection& connection) {
  Statement statement = connection.prepare("SELECT value FROM meta WHERE key = 'stopped'");
  return !statement.step() || statement.text(0) == "clean";
}

void set_stopped(Connection& connection, bool cleanly) {
  connection.prepare("INSERT INTO meta (key, value) VALUES ('stopped', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1")
      .bind(cleanly ? "clean" : "dirty")
      .run();
}

}  // namespace lathe::db

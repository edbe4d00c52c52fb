#include "db/versions.h"

namespace lathe::db::versions {

std::int64_t next(Connection& connection, std::string_view workspace, std::string_view kind, std::string_view name) {
  Statement row = connection.prepare(
      "INSERT INTO version_counters (workspace, kind, name, last) VALUES (?, ?, ?, 1)"
      " ON CONFLICT (workspace, kind, name) DO UPDATE SET last = last + 1 RETURNING last");
  row.bind_all(workspace, kind, name).step();
  const std::int64_t number = row.integer(0);
  row.step();  // to its end: only then is the change made
  return number;
}

}  // namespace lathe::db::versions

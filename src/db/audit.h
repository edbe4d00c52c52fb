// Rows of `audit`: who did what, in the transaction of the change itself. Each row's hash covers the row and the hash
// before it, so that a row changed, taken out or put in later is found by verify().
#pragma once

#include <string>
#include <string_view>

#include "db/page.h"
#include "db/sqlite.h"

namespace lathe::db::audit {

struct AuditEntry {
  std::int64_t id = 0;  // given by append()
  base::UtcTime at;
  std::string actor;
  std::int64_t token_id = 0;
  std::string source;  // where the request came from
  std::string action;
  std::string object;
  std::string detail;
};

void append(Connection& connection, AuditEntry& entry);
void append(Connection& connection, AuditEntry&& entry);
// Newest first.
Page<AuditEntry> list(Connection& connection, int limit, std::string_view cursor = {});
// The number of rows. Throws corrupt with the first row that does not fit, or when the trail was cut by other hands
// than trim()'s.
std::int64_t verify(Connection& connection);
// Removes the oldest rows, those before `before`, at most `most` of them, and says so in the trail. What is left can
// still be verified. Gives how many went.
std::int64_t trim(Connection& connection, base::UtcTime before, std::int64_t most, base::UtcTime now);

}  // namespace lathe::db::audit

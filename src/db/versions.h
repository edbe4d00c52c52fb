// Rows of `version_counters`: numbers 1, 2, 3 … of named things, none given out twice.
#pragma once

#include <cstdint>
#include <string_view>

#include "db/sqlite.h"

namespace lathe::db::versions {

// The next number of this name; inside the transaction that uses it, so that a failure leaves no gap.
std::int64_t next(Connection& connection, std::string_view workspace, std::string_view kind, std::string_view name);

}  // namespace lathe::db::versions

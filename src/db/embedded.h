// The SQL files of this folder as constants of the binary; the .cc is made by cmake.
#pragma once

#include <span>
#include <string_view>

namespace lathe::db {

struct Migration {
  std::string_view name;  // "001_initial"; its position in the list, from 1, is the schema version it gives
  std::string_view sql;
};
// Forward only, in order.
std::span<const Migration> migrations();
// schema.sql: what all migrations together give.
std::string_view schema_text();

}  // namespace lathe::db

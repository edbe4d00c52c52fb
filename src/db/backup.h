// Copies and checks of a database file, from any process, also while a server works on it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/error.h"

namespace lathe::db {

// A consistent copy as of one moment, made with SQLite's backup interface; durable on return. The target must not
// exist; it appears under its name only when it is complete.
base::Result<> backup_database(const std::filesystem::path& file, const std::filesystem::path& target);

struct CheckReport {
  int schema_version = 0;
  std::int64_t runs = 0;
  std::int64_t audit_rows = 0;
};
// Integrity, references, schema version, audit trail. Changes nothing.
base::Result<CheckReport> check_database(const std::filesystem::path& file);

}  // namespace lathe::db

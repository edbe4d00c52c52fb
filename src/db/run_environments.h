// Rows of `run_environments`: the environment of a run that Lathe builds, and what it became.
#pragma once

#include <optional>
#include <string>

#include "db/sqlite.h"

namespace lathe::db::run_environments {

struct RunEnvironment {
  std::string name = {}, version = {};  // as they were found at the submit; empty: not registered
  base::Digest definition = {};
  std::optional<base::Digest> lock = {};
  std::optional<std::int64_t> build = {};
  std::string substitutions_json = "[]";
  bool operator==(const RunEnvironment&) const = default;
};

void put(Connection& connection, std::int64_t run, const RunEnvironment& environment);
std::optional<RunEnvironment> find(Connection& connection, std::int64_t run);
// The run waits for this build.
void set_build(Connection& connection, std::int64_t run, std::int64_t build);
// Whether a run that is not over waits for it.
bool is_awaited(Connection& connection, std::int64_t build);

}  // namespace lathe::db::run_environments

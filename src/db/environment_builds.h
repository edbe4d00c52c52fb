// Rows of `environment_builds`: each time an environment was locked or put on this machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/page.h"
#include "db/sqlite.h"

namespace lathe::db::environment_builds {

enum class State { waiting, locking, building, ready, failed };
std::string_view state_name(State state);

struct Build {
  std::int64_t id = 0;
  std::string workspace = {}, environment = {}, version = {};
  base::Digest definition = {}, key = {};
  std::optional<base::Digest> source = {};
  bool refresh = false;
  State state = State::waiting;
  std::optional<base::Digest> lock = {};
  std::string substitutions_json = "[]";
  std::optional<std::string> error_json = {};
  std::optional<base::Digest> log = {};
  std::int64_t log_bytes = 0;
  base::UtcTime created = {};
  std::optional<base::UtcTime> started = {}, ended = {};
  std::string created_by = {};
  bool operator==(const Build&) const = default;
};

// Gives it its id.
Build insert(Connection& connection, Build build);
// What changes while it goes on: state, lock, substitutions, error, log and times.
void update(Connection& connection, const Build& build);
std::optional<Build> find(Connection& connection, std::string_view workspace, std::int64_t id);
// Those that are not over, the oldest first.
std::vector<Build> live(Connection& connection);
// Removes all but the newest `keep` of those that are over, of one definition; never one whose log is a file of a run.
// Returns how many.
int trim(Connection& connection, std::string_view workspace, const base::Digest& definition, int keep);
// Newest first.
Page<Build> list(Connection& connection, std::string_view workspace, int limit, std::string_view cursor);

}  // namespace lathe::db::environment_builds

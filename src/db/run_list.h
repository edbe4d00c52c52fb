// The list of runs, newest first (by sequence), from an index for every combination of filters: a page costs the same
// at a hundred runs and at a hundred thousand. A tag or property together with other filters walks the runs that have
// it; a parent's family is walked whole.
#pragma once

#include <optional>
#include <string>

#include "db/page.h"
#include "db/sqlite.h"
#include "model/run.h"

namespace lathe::db::runs {

struct TagFilter {  // also of properties
  std::string key;
  std::optional<std::string> value = {};  // any value when not given
};

struct ListQuery {
  std::string workspace;
  std::optional<std::string> experiment = {};
  std::optional<model::RunState> state = {};
  std::optional<TagFilter> tag = {}, property = {};
  std::optional<std::string> parent = {};  // only its children
  bool recursive = false;                  // and theirs
  std::optional<std::string> run_type = {};
  std::optional<base::UtcTime> since = {};  // created at or after
  std::optional<base::UtcTime> until = {};  // created before
  std::optional<bool> archived = false;     // nothing: both
  int limit = 50;
  std::string cursor = {};
};

// Throws invalid for a wrong limit or cursor.
Page<model::RunRecord> list(Connection& connection, const ListQuery& query);

}  // namespace lathe::db::runs

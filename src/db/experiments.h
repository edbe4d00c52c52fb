// Rows of `experiments`. The number of runs and the newest one are kept by runs::insert and runs::remove.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "db/page.h"
#include "db/sqlite.h"
#include "model/run.h"

namespace lathe::db::experiments {

struct Experiment {
  std::string workspace;
  std::string name;
  base::UtcTime created;
  std::int64_t run_count = 0;
  std::optional<model::RunId> last_run = {};
};

// Makes the experiment unless it is there. The workspace must exist.
void ensure(Connection& connection, std::string_view workspace, std::string_view name, base::UtcTime now);
std::optional<Experiment> find(Connection& connection, std::string_view workspace, std::string_view name);
// Throws not_found.
Experiment get(Connection& connection, std::string_view workspace, std::string_view name);
// Newest first.
Page<Experiment> list(Connection& connection, std::string_view workspace, int limit, std::string_view cursor = {});

// A run of the experiment came or went.
void count_inserted(Connection& connection, const model::RunRecord& run);
void count_removed(Connection& connection, const model::RunRecord& run);

}  // namespace lathe::db::experiments

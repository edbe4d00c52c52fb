// Reads metric records back, in the order in which they came: a page of them as JSON, or all as a stream of JSON lines.
// Memory is bounded by a block (about 1 MiB) and a page (about 4 MiB), however many records there are. Called on home;
// SQL on the readers, unpacking on the pool.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/run.h"
#include "net/http.h"
#include "server/core.h"

namespace lathe::server {

struct MetricSelection {
  struct Run {
    std::int64_t sequence = 0;
    model::RunId id;
  };
  std::vector<Run> runs;            // in the order of the answer, by sequence
  std::optional<std::string> name;  // only records of this name
  bool name_runs = false;           // each record says which run it is of
};

struct MetricPage {
  std::string items;  // JSON objects with commas between them
  std::optional<std::string> next;
};

// `scope` binds the cursor to what was asked for.
rt::Task<MetricPage> read_metric_page(Core& core, const MetricSelection& selection, const std::string& scope, int limit,
                                      const std::string& cursor);
rt::Task<void> stream_metrics(Core& core, MetricSelection selection, rt::CancelToken cancel, net::BodyWriter& out);

}  // namespace lathe::server

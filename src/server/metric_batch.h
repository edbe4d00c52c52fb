// Metric journals as the database keeps them: lines in, blocks out, and back. Pure and slow for large batches: for the
// pool, not for the home thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/metrics.h"
#include "wire/metric.h"

namespace lathe::server {

// What a line that is no record costs: a client's request as a whole, a script's journal only that line.
enum class Malformed { refuse, skip };

struct MetricBatch {
  std::vector<db::metrics::Block> blocks;
  std::int64_t bytes = 0;  // of the journal that these are; up to the last whole line
  std::int64_t lines = 0, skipped = 0;
  std::string problem;  // with the first line that was skipped: "line 3: …"
  std::optional<wire::MetricGap> gap;  // the first of those that the writer left
};

// `first_line` is the number of the first line for messages. Throws invalid (field "line N") when it must refuse.
MetricBatch make_metric_batch(std::string_view journal, Malformed malformed, std::int64_t first_line);

// The lines of a block, each with its line break. Throws corrupt.
std::string unpack_metrics(const db::metrics::Block& block);

}  // namespace lathe::server

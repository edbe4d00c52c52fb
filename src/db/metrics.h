// Rows of `metric_sources`, `metric_blocks` and `metric_names`: the metric records of a run as blocks of JSON lines in
// the order in which they came (docs/formats/metrics.md). A batch is one row, never one row per record; small batches
// that follow one another share a row.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite.h"

namespace lathe::db::metrics {

// How much of a journal is here.
struct Source {
  std::int64_t offset = 0;   // the first byte that is not
  std::int64_t lines = 0;    // before it
  std::int64_t skipped = 0;  // of these, the ones that were no records
};
// All zero for a journal that is not known.
Source find_source(Connection& connection, std::int64_t run, std::string_view name);
void store_source(Connection& connection, std::int64_t run, std::string_view name, const Source& source);

struct Block {
  std::int64_t id = 0;
  std::int64_t records = 0;
  std::int64_t size = 0;  // of the lines
  bool packed = false;    // `bytes` are the lines compressed with zstd
  std::string bytes;
  std::set<std::string> names;  // for append() only
};

// Lines that are not packed join the run's last block while that stays small.
inline constexpr std::int64_t kTailBytes = 16 * 1024;
void append(Connection& connection, std::int64_t run, const Block& block);

// The next blocks of the run behind `after` (all that hold `name`, when given), up to `most_bytes` of lines but at
// least one; empty at the end.
std::vector<Block> blocks_after(Connection& connection, std::int64_t run, std::int64_t after,
                                const std::optional<std::string>& name, std::int64_t most_bytes);
// The names of all records, in alphabetical order.
std::vector<std::string> names(Connection& connection, std::int64_t run);

}  // namespace lathe::db::metrics

// One metric record: a line of JSON in a journal. Records are kept as they were written, so that a whole number stays
// one and a float too; this only says whether a line is a record and what it is called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::wire {

inline constexpr std::size_t kMaxMetricLine = 1024 * 1024, kMaxMetricName = 255;
// The name of a record that stands for others, which the writer of the journal could not write.
inline constexpr std::string_view kGapName = "lathe.gap";

// The record's name, or `invalid`: not an object, an unknown or missing field, a wrong type or an over-long text.
base::Result<std::string> check_metric(std::string_view line);
// The name of a line that has passed check_metric().
std::string metric_name(std::string_view line);


struct MetricGap {
  std::int64_t records = 0;
  std::string error;  // why they were not written; printable
};
// What a record named kGapName says; nothing when it is an ordinary one of that name.
std::optional<MetricGap> read_gap(std::string_view line);

}  // namespace lathe::wire

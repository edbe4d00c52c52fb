// One metric record: a line of JSON in a journal. Records are kept as they were written, so that a whole number stays
// one and a float too; this only says whether a line is a record and what it is called.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::wire {

inline constexpr std::size_t kMaxMetricLine = 1024 * 1024, kMaxMetricName = 255;

// The record's name, or `invalid`: not an object, an unknown or missing field, a wrong type or an over-long text.
base::Result<std::string> check_metric(std::string_view line);
// The name of a line that has passed check_metric().
std::string metric_name(std::string_view line);

}  // namespace lathe::wire

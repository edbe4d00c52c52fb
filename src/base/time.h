// Time as values. Nothing here reads a clock: rt::Clock is the only source of time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lathe::base {

// Wall-clock time for people and for records, in microseconds since 1970; never used to measure.
struct UtcTime {
  std::int64_t micros = 0;
  auto operator<=>(const UtcTime&) const = default;
};

using Duration = std::chrono::nanoseconds;
// Monotonic time for leases, time-outs and waiting; it knows nothing of wall-clock jumps.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// "2026-02-19T19:09:19.200602Z", the form of the API and the logs.
std::string format_utc(UtcTime time);
// Accepts that form with 0 to 6 fraction digits.
std::optional<UtcTime> parse_utc(std::string_view text);

}  // namespace lathe::base

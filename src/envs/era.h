// The era rule: a definition that pins old packages is resolved as of the newest pin's own upload date plus 30 days, so
// that everything that it does not pin is of the same age. Pure: a date comes in from outside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "envs/lock.h"

namespace lathe::envs {

struct Pin {
  std::string name, version;
  std::optional<base::UtcTime> uploaded;  // unknown where the index does not tell
};

inline constexpr int kEraDays = 30;      // after the newest pin: bug fixes of that release's own dependencies
inline constexpr int kRecentDays = 180;  // pins younger than this want today's packages

// `asked`: "", "off" or a date, of the definition; `enabled`: of the site.
Era decide_era(const std::vector<Pin>& pins, const std::string& asked, bool enabled, base::UtcTime now);

// uv's arguments for a date; none for an empty one.
std::vector<std::string> era_arguments(const std::string& as_of);

}  // namespace lathe::envs

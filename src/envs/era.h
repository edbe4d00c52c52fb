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
inline constexpr int kPythonDays = 180;  // after a Python's release: by then the usual packages had wheels for it

struct EraQuestion {
  std::string asked;    // of the definition: "", "off" or a date
  bool enabled = true;  // of the site
  std::string python;   // "3.6": before it was there no package had wheels for it
  base::UtcTime now;
};
Era decide_era(const std::vector<Pin>& pins, const EraQuestion& question);

// uv's arguments for a date; none for an empty one.
std::vector<std::string> era_arguments(const std::string& as_of);

}  // namespace lathe::envs

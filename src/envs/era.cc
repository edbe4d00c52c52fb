#include "envs/era.h"

namespace lathe::envs {
namespace {

constexpr std::int64_t kDayMicros = 86'400'000'000;

std::string date_of(base::UtcTime time) { return base::format_utc(time).substr(0, 10); }
std::string second_of(base::UtcTime time) { return base::format_utc(time).substr(0, 19) + "Z"; }

const Pin* newest_of(const std::vector<Pin>& pins) {
  const Pin* newest = nullptr;
  for (const auto& pin : pins)
    if (pin.uploaded && (!newest || *newest->uploaded < *pin.uploaded)) newest = &pin;
  return newest;
}

}  // namespace

Era decide_era(const std::vector<Pin>& pins, const std::string& asked, bool enabled, base::UtcTime now) {
  if (asked == "off") return {"", "off", "LATHE_AS_OF of the environment is off"};
  if (!asked.empty()) return {asked + "T00:00:00Z", "asked", "LATHE_AS_OF of the environment says so"};
  if (!enabled) return {"", "off", "the site has switched the era rule off"};
  const Pin* newest = newest_of(pins);
  if (!newest) return {"", "no-pins", "no package is pinned to an exact version with a known date"};
  const std::string what = fmt::format("{} {} is of {}", newest->name, newest->version, date_of(*newest->uploaded));
  if (now.micros - newest->uploaded->micros < kRecentDays * kDayMicros)
    return {"", "recent-pins", what + ", which is recent"};
  return {second_of({newest->uploaded->micros + kEraDays * kDayMicros}), "pins",
          fmt::format("the newest pin, {}, plus {} days", what, kEraDays)};
}

std::vector<std::string> era_arguments(const std::string& as_of) {
  if (as_of.empty()) return {};
  std::vector<std::string> out{"--exclude-newer", as_of};
  // Builds of source packages go through an interface that setuptools has since this version.
  const std::string first_with_interface = "2019-02-28T00:00:00Z";
  if (as_of < first_with_interface)
    out.insert(out.end(), {"--exclude-newer-package", "setuptools=" + first_with_interface});
  return out;
}

}  // namespace lathe::envs

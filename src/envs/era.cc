#include "envs/era.h"

#include <map>

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

// When the usual packages had wheels for a Python; 0 for one that is older than all pins, or not known.
std::int64_t python_settled(const std::string& minor) {
  static const std::map<std::string, const char*> kReleases{
      {"3.6", "2016-12-23T00:00:00Z"},  {"3.7", "2018-06-27T00:00:00Z"},  {"3.8", "2019-10-14T00:00:00Z"},
      {"3.9", "2020-10-05T00:00:00Z"},  {"3.10", "2021-10-04T00:00:00Z"}, {"3.11", "2022-10-24T00:00:00Z"},
      {"3.12", "2023-10-02T00:00:00Z"}, {"3.13", "2024-10-07T00:00:00Z"}, {"3.14", "2025-10-07T00:00:00Z"}};
  auto found = kReleases.find(minor);
  return found == kReleases.end() ? 0 : base::parse_utc(found->second)->micros + kPythonDays * kDayMicros;
}

}  // namespace

Era decide_era(const std::vector<Pin>& pins, const EraQuestion& question) {
  if (question.asked == "off") return {"", "off", "LATHE_AS_OF of the environment is off"};
  if (!question.asked.empty())
    return {question.asked + "T00:00:00Z", "asked", "LATHE_AS_OF of the environment says so"};
  if (!question.enabled) return {"", "off", "the site has switched the era rule off"};
  const Pin* newest = newest_of(pins);
  if (!newest) return {"", "no-pins", "no package is pinned to an exact version with a known date"};
  const std::string what = fmt::format("{} {} is of {}", newest->name, newest->version, date_of(*newest->uploaded));
  if (question.now.micros - newest->uploaded->micros < kRecentDays * kDayMicros)
    return {"", "recent-pins", what + ", which is recent"};
  const std::int64_t by_pin = newest->uploaded->micros + kEraDays * kDayMicros,
                     by_python = python_settled(question.python);
  if (by_pin >= by_python)
    return {second_of({by_pin}), "pins", fmt::format("the newest pin, {}, plus {} days", what, kEraDays)};
  if (by_python > question.now.micros)
    return {"", "pins", what + fmt::format(", but Python {} is new", question.python)};
  return {second_of({by_python}), "pins",
          fmt::format("the newest pin, {}, but Python {} was half a year old only then", what, question.python)};
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

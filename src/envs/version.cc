#include "envs/version.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"

namespace lathe::envs {
namespace {

bool begins_with(std::string_view version, std::string_view prefix) {
  auto whole = release_numbers(version), part = release_numbers(prefix);
  whole.resize(std::max(whole.size(), part.size()));
  return std::equal(part.begin(), part.end(), whole.begin());
}

bool holds(std::string_view version, std::string_view condition) {
  condition = base::trim(condition);
  auto end = condition.find_first_not_of("<>=!~");
  std::string_view sign = condition.substr(0, end);
  std::string_view wanted = end == std::string_view::npos ? "" : base::trim(condition.substr(end));
  if (wanted.ends_with(".*")) {
    bool begins = begins_with(version, wanted.substr(0, wanted.size() - 2));
    return sign == "!=" ? !begins : begins;
  }
  const int order = compare_versions(version, wanted);
  if (sign == ">=") return order >= 0;
  if (sign == ">") return order > 0;
  if (sign == "<=") return order <= 0;
  if (sign == "<") return order < 0;
  if (sign == "==" || sign == "===") return order == 0;
  if (sign == "!=") return order != 0;
  if (sign == "~=") {
    auto dot = wanted.rfind('.');
    return order >= 0 && dot != std::string_view::npos && begins_with(version, wanted.substr(0, dot));
  }
  return begins_with(version, wanted);
}

}  // namespace

std::vector<int> release_numbers(std::string_view version) {
  std::vector<int> out;
  while (true) {
    int number = 0;
    auto [end, problem] = std::from_chars(version.data(), version.data() + version.size(), number);
    if (problem != std::errc()) break;
    out.push_back(number);
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (!version.starts_with('.')) break;
    version.remove_prefix(1);
  }
  return out;
}

int compare_versions(std::string_view a, std::string_view b) {
  auto left = release_numbers(a), right = release_numbers(b);
  const auto length = std::max(left.size(), right.size());
  left.resize(length);
  right.resize(length);
  return left < right ? -1 : left > right ? 1 : 0;
}

bool version_in_range(std::string_view version, std::string_view range) {
  if (base::trim(range).empty()) return true;
  return std::ranges::all_of(base::split(range, ','), [&](std::string_view part) { return holds(version, part); });
}

}  // namespace lathe::envs

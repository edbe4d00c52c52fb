#include "model/sizes.h"

#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/strings.h"

namespace lathe::model {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

double number(std::string_view text, std::string_view line) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  LATHE_CHECK(error == std::errc{} && end == text.data() + text.size(), "vm_sizes.csv: '{}' in '{}'", text, line);
  return value;
}

std::vector<NodeSize> read_catalogue() {
  std::vector<NodeSize> sizes{{.name = std::string(kWholeMachine)}};
  for (std::string_view line : base::split(kVmSizesCsv, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    auto fields = base::split(line, ',');
    LATHE_CHECK(fields.size() == 4, "vm_sizes.csv: '{}' does not have four fields", line);
    sizes.push_back({.name = std::string(fields[0]),
                     .millicores = std::llround(number(fields[1], line) * 1000),
                     .memory_bytes = std::llround(number(fields[2], line) * kGib),
                     .gpus = static_cast<int>(number(fields[3], line))});
  }
  return sizes;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}

// The three names that share the longest beginning with `name`, for the hint.
std::string near_names(std::string_view name) {
  std::string wanted = base::to_lower(name);
  if (!wanted.starts_with("standard_")) wanted = "standard_" + wanted;
  std::vector<std::string_view> names;
  for (const auto& size : all_sizes()) names.push_back(size.name);
  auto distance = [&](std::string_view n) {
    return std::pair(wanted.size() - common_prefix(base::to_lower(n), wanted), n);
  };
  std::ranges::sort(names, std::ranges::less{}, distance);
  return fmt::format("{}, {}, {}", names[0], names[1], names[2]);
}

}  // namespace

std::span<const NodeSize> all_sizes() {
  static const std::vector<NodeSize> sizes = read_catalogue();
  return sizes;
}

std::optional<NodeSize> find_size(std::string_view name) {
  std::string wanted = base::to_lower(name);
  for (const auto& size : all_sizes())
    if (base::to_lower(size.name) == wanted) return size;
  return std::nullopt;
}

base::Result<NodeSize> get_size(std::string_view name) {
  if (auto size = find_size(name)) return *size;
  return base::fail(
      base::Error(base::Code::invalid, fmt::format("vm_size '{}' is not known", base::printable(name, 80)))
          .field("vm_size")
          .hint(fmt::format("'machine' is this whole machine; near names are {}", near_names(name))));
}

}  // namespace lathe::model

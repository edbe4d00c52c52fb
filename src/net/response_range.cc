#include "net/response_range.h"

#include "base/strings.h"

namespace lathe::net {

std::optional<ContentRange> parse_content_range(std::string_view value) {
  constexpr std::string_view kUnit = "bytes ";
  auto dash = value.find('-'), slash = value.find('/');
  if (!value.starts_with(kUnit) || dash == value.npos || slash == value.npos || slash < dash) return std::nullopt;
  auto first = base::parse_u64(value.substr(kUnit.size(), dash - kUnit.size()));
  auto last = base::parse_u64(value.substr(dash + 1, slash - dash - 1));
  auto size = base::parse_u64(value.substr(slash + 1));
  if (!first || !last || *last < *first || (!size && value.substr(slash + 1) != "*") || (size && *last >= *size))
    return std::nullopt;
  return ContentRange{*first, *last, size};
}

}  // namespace lathe::net

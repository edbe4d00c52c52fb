// The Content-Range header of a 206.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lathe::net {

struct ContentRange {
  std::uint64_t first = 0, last = 0;
  std::optional<std::uint64_t> size;  // "*" when the other side does not know it
};

// "bytes 5-9/100"; nothing when it is not of that form.
std::optional<ContentRange> parse_content_range(std::string_view value);

}  // namespace lathe::net

// Small string helpers without a better home.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::base {

std::string to_hex(std::string_view bytes);
// Lower-case only, even length; else nothing.
std::optional<std::string> from_hex(std::string_view hex);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);
// Decimal digits only, no sign, no overflow.
std::optional<std::uint64_t> parse_u64(std::string_view text);

// Text safe for a terminal and a log line: control characters and invalid UTF-8 become \xNN, cut at `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 200);
bool is_valid_utf8(std::string_view text);

// `bytes` random bytes from the kernel.
std::string random_bytes(std::size_t bytes);

// "1.5 GiB", "312 B".
std::string human_bytes(std::uint64_t bytes);

}  // namespace lathe::base

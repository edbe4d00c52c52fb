// Base64 (RFC 4648) without padding.
#pragma once

#include <string>
#include <string_view>

namespace lathe::base {

enum class Base64 { standard, url };
std::string to_base64(std::string_view bytes, Base64 alphabet);

}  // namespace lathe::base

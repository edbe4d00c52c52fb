// A gzip file as the web gave it: whole or refused, in pieces of any size, and the same whatever the pieces are.
#include "net/gzip_check.h"

#include <algorithm>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  auto check = [&](std::size_t piece) {
    std::size_t at = 0;
    return lathe::net::check_gzip([&](char* buffer, std::size_t room) -> lathe::base::Result<std::size_t> {
      const std::size_t n = std::min({piece, room, size - at});
      std::memcpy(buffer, data + at, n);
      at += n;
      return n;
    });
  };
  if (check(1).has_value() != check(size + 1).has_value()) __builtin_trap();
  return 0;
}

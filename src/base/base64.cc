#include "base/base64.h"

namespace lathe::base {

std::string to_base64(std::string_view bytes, Base64 alphabet) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const std::string_view last = alphabet == Base64::standard ? "+/" : "-_";
  std::string out;
  auto digit = [&](unsigned value) { out += value < kDigits.size() ? kDigits[value] : last[value - kDigits.size()]; };
  unsigned bits = 0, held = 0;
  for (unsigned char c : bytes) {
    bits = bits << 8 | c;
    for (held += 8; held >= 6; held -= 6) digit(bits >> (held - 6) & 63);
  }
  if (held > 0) digit(bits << (6 - held) & 63);
  return out;
}

}  // namespace lathe::base

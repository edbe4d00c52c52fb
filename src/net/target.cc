#include "net/target.h"

#include <algorithm>

#include "base/strings.h"
#include "net/http_client.h"
#include "net/status_error.h"

namespace lathe::net {
namespace {

using base::Code;

[[noreturn]] void refuse(std::string why) {
  throw StatusError{400, base::Error(Code::invalid, "the request target " + std::move(why))};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_space) {
      c = ' ';
    } else if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) refuse("has a '%' without two hex digits");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') refuse("contains a zero byte");
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::string Target::path() const {
  std::string out;
  for (const auto& segment : segments) out += "/" + segment;
  return out;
}

bool Target::has_dots() const {
  return std::ranges::any_of(segments, [](const auto& segment) { return segment == "." || segment == ".."; });
}

Target parse_target(std::string_view raw) {
  if (!raw.starts_with('/')) refuse("does not start with '/'");
  if (raw.contains('#')) refuse("contains a fragment");
  Target target;
  const auto mark = raw.find('?');
  for (const auto segment : base::split(raw.substr(1, mark == raw.npos ? mark : mark - 1), '/'))
    target.segments.push_back(decode(segment, false));
  if (mark == raw.npos) return target;
  for (const auto pair : base::split(raw.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    target.query.emplace(decode(pair.substr(0, equals), true),
                         equals == pair.npos ? std::string() : decode(pair.substr(equals + 1), true));
  }
  return target;
}

std::string encode_segment(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~';
    if (plain)
      out.push_back(c);
    else
      out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
  }
  return out;
}

}  // namespace lathe::net

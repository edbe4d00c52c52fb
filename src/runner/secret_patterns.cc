#include "runner/secret_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/base64.h"

namespace lathe::runner {
namespace {

constexpr std::string_view kMark = "***";

bool is_plain(unsigned char c, std::string_view also) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || also.find(c) != also.npos;
}

std::string percent(std::string_view bytes, std::string_view plain, std::string_view space) {
  std::string out;
  for (unsigned char c : bytes) {
    if (c == ' ')
      out += space;
    else if (is_plain(c, plain))
      out += static_cast<char>(c);
    else
      out += fmt::format("%{:02X}", c);
  }
  return out;
}

std::string json_escaped(std::string_view bytes) {
  std::string out;
  for (char c : bytes) switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  return out;
}

}  // namespace

void SecretPatterns::add(std::string_view value) {
  if (value.size() < kShortestSecret) return;
  add_form(std::string(value));
  // Without padding: both ways of writing are found.
  add_form(base::to_base64(value, base::Base64::standard));
  add_form(base::to_base64(value, base::Base64::url));
  add_form(percent(value, "-._~/", "%20"));
  add_form(percent(value, "-._~", "%20"));
  add_form(percent(value, "-._~", "+"));
  add_form(json_escaped(value));
}

void SecretPatterns::add_form(std::string form) {
  for (const auto& known : patterns_)
    if (known.bytes == form) return;
  std::vector<std::uint32_t> fallback(form.size(), 0);
  for (std::size_t i = 1, matched = 0; i < form.size(); ++i) {
    while (matched > 0 && form[i] != form[matched]) matched = fallback[matched - 1];
    if (form[i] == form[matched]) ++matched;
    fallback[i] = static_cast<std::uint32_t>(matched);
  }
  patterns_.push_back({std::move(form), std::move(fallback)});
}

std::size_t SecretPatterns::find(const Pattern& pattern, std::string_view input, std::vector<Range>& found) {
  const std::string& bytes = pattern.bytes;
  std::size_t matched = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (matched == 0) {  // most of a log is nowhere near a secret
      const void* next = std::memchr(input.data() + i, bytes[0], input.size() - i);
      if (!next) return 0;
      i = static_cast<std::size_t>(static_cast<const char*>(next) - input.data());
    }
    while (matched > 0 && input[i] != bytes[matched]) matched = pattern.fallback[matched - 1];
    if (input[i] == bytes[matched]) ++matched;
    if (matched < bytes.size()) continue;
    const std::size_t begin = i + 1 - bytes.size();
    if (!found.empty() && found.back().begin <= begin && begin <= found.back().end)
      found.back().end = std::max(found.back().end, i + 1);
    else
      found.push_back({begin, i + 1});
    matched = pattern.fallback[matched - 1];
  }
  return matched;
}

SecretPatterns::Hidden SecretPatterns::hide(std::string_view input, std::size_t covered, bool last) const {
  std::vector<Range> found;
  std::size_t kept = 0;
  for (const auto& pattern : patterns_) kept = std::max(kept, find(pattern, input, found));
  std::ranges::sort(found, {}, &Range::begin);
  Hidden out;
  out.used = last ? input.size() : input.size() - kept;
  std::size_t at = covered;
  bool marked = covered > 0;  // whether what ends at `at` is shown as the mark
  for (const Range& range : found) {
    if (range.begin >= out.used) break;
    if (range.begin > at) out.text += input.substr(at, range.begin - at);
    if (range.begin > at || !marked) out.text += kMark;
    marked = true;
    at = std::max(at, range.end);
  }
  if (at < out.used) out.text += input.substr(at, out.used - at);
  out.covered = at > out.used ? at - out.used : 0;
  return out;
}

}  // namespace lathe::runner

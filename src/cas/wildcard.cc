#include "cas/wildcard.h"

#include <array>
#include <functional>
#include <string>
#include <utility>

namespace lathe::cas {
namespace {

constexpr std::size_t kBroken = std::string_view::npos;

bool in_range(int byte, int low, int high) { return byte >= low && byte <= high; }
bool is_alpha(int c) { return in_range(c, 'a', 'z') || in_range(c, 'A', 'Z'); }
bool is_digit(int c) { return in_range(c, '0', '9'); }
bool is_space(int c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }  // git knows no others

using Predicate = bool (*)(int);
// ASCII only, whatever the locale.
constexpr std::array<std::pair<std::string_view, Predicate>, 12> kClasses{{
    {"alpha", is_alpha},
    {"digit", is_digit},
    {"alnum", [](int c) { return is_alpha(c) || is_digit(c); }},
    {"blank", [](int c) { return c == ' ' || c == '\t'; }},
    {"cntrl", [](int c) { return c < 32 || c == 127; }},
    {"graph", [](int c) { return in_range(c, 33, 126); }},
    {"lower", [](int c) { return in_range(c, 'a', 'z'); }},
    {"print", [](int c) { return in_range(c, 32, 126); }},
    {"punct", [](int c) { return in_range(c, 33, 126) && !is_alpha(c) && !is_digit(c); }},
    {"space", is_space},
    {"upper", [](int c) { return in_range(c, 'A', 'Z'); }},
    {"xdigit", [](int c) { return is_digit(c) || in_range(c, 'a', 'f') || in_range(c, 'A', 'F'); }},
}};

// Reads "[:name:]" at `at` into `set`; the index after it, `at` when it is no named class, kBroken when the name is
// unknown or the text ends.
std::size_t read_named_class(std::string_view pattern, std::size_t at, std::bitset<256>& set) {
  auto close = pattern.find(']', at + 2);
  if (close == std::string_view::npos) return kBroken;
  if (close < at + 3 || pattern[close - 1] != ':') return at;
  auto name = pattern.substr(at + 2, close - at - 3);
  for (const auto& [known, predicate] : kClasses) {
    if (known != name) continue;
    for (int c = 0; c < 128; ++c)
      if (predicate(c)) set.set(static_cast<std::size_t>(c));
    return close + 1;
  }
  return kBroken;
}

// Reads a class from just after its '[' into `set`; the index after its ']', or kBroken.
std::size_t read_class(std::string_view pattern, std::size_t at, std::bitset<256>& set) {
  auto byte_at = [&](std::size_t i) { return i < pattern.size() ? static_cast<unsigned char>(pattern[i]) : 0; };
  bool negated = byte_at(at) == '!' || byte_at(at) == '^';
  if (negated) ++at;
  int previous = 0;  // the low end of a range, if one starts here
  for (bool first = true; first || byte_at(at) != ']'; first = false) {
    int byte = byte_at(at);
    if (at >= pattern.size()) return kBroken;
    if (byte == '-' && previous != 0 && byte_at(at + 1) != 0 && byte_at(at + 1) != ']') {
      at += byte_at(at + 1) == '\\' ? 2 : 1;
      if (at >= pattern.size()) return kBroken;
      for (int c = previous; c <= byte_at(at); ++c) set.set(static_cast<std::size_t>(c));
      previous = 0;
    } else if (byte == '[' && byte_at(at + 1) == ':') {
      auto after = read_named_class(pattern, at, set);
      if (after == kBroken) return kBroken;
      if (after != at) {
        at = after;
        previous = 0;
        continue;
      }
      set.set('[');
      previous = '[';
    } else {
      if (byte == '\\') byte = byte_at(++at);
      if (at >= pattern.size()) return kBroken;
      set.set(static_cast<std::size_t>(byte));
      previous = byte;
    }
    ++at;
  }
  if (negated) set.flip();
  set.reset('/');
  return at + 1;
}

}  // namespace

Wildcard::Wildcard(std::string_view pattern) {
  for (std::size_t at = 0; at < pattern.size() && !malformed_;) {
    switch (pattern[at]) {
      case '?':
        steps_.push_back({Kind::any_one});
        ++at;
        break;
      case '*':
        at = add_stars(pattern, at);
        break;
      case '[':
        at = add_class(pattern, at + 1);
        break;
      case '\\':
        malformed_ = ++at == pattern.size();
        [[fallthrough]];
      default:
        if (!malformed_) steps_.push_back({Kind::literal, static_cast<unsigned char>(pattern[at])});
        ++at;
    }
  }
}

std::size_t Wildcard::add_class(std::string_view pattern, std::size_t at) {
  ByteSet set;
  auto end = read_class(pattern, at, set);
  malformed_ = end == kBroken;
  steps_.push_back({Kind::one_of, 0, static_cast<std::uint16_t>(sets_.size())});
  sets_.push_back(set);
  return end;
}

std::size_t Wildcard::add_stars(std::string_view pattern, std::size_t at) {
  auto end = std::min(pattern.find_first_not_of('*', at), pattern.size());
  auto rest = pattern.substr(end);
  bool after_slash = at == 0 || pattern[at - 1] == '/';
  bool before_slash = rest.starts_with('/') || rest.starts_with("\\/");
  if (end - at < 2 || !after_slash || !(before_slash || rest.empty())) {
    steps_.push_back({Kind::star});
    return end;
  }
  if (rest.starts_with('/')) steps_.push_back({Kind::deep_skip});
  steps_.push_back({Kind::deep_star});
  return end;
}

bool Wildcard::accepts(const Step& step, unsigned char byte) const {
  switch (step.kind) {
    case Kind::literal:
      return step.byte == byte;
    case Kind::one_of:
      return sets_[step.set].test(byte);
    case Kind::any_one:
    case Kind::star:
      return byte != '/';
    case Kind::deep_star:
      return true;
    case Kind::deep_skip:
      return false;
  }
  return false;
}

// A star may match nothing, so entering it enters what follows too.
void Wildcard::enter(std::vector<bool>& states, std::size_t step) const {
  for (; !states[step]; ++step) {
    states[step] = true;
    if (step == steps_.size()) return;
    auto kind = steps_[step].kind;
    if (kind == Kind::deep_skip)
      enter(states, step + 3);  // past "**" and its slash
    else if (kind != Kind::star && kind != Kind::deep_star)
      return;
  }
}

bool Wildcard::matches(std::string_view text) const {
  if (malformed_) return false;
  std::vector<bool> states(steps_.size() + 1), next;
  enter(states, 0);
  for (unsigned char byte : text) {
    next.assign(states.size(), false);
    bool alive = false;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!states[i] || !accepts(steps_[i], byte)) continue;
      bool stays = steps_[i].kind == Kind::star || steps_[i].kind == Kind::deep_star;
      enter(next, stays ? i : i + 1);
      alive = true;
    }
    if (!alive) return false;
    states.swap(next);
  }
  return states[steps_.size()];
}

}  // namespace lathe::cas

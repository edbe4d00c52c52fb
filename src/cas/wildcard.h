// Wildcard: one pattern of an ignore file, compiled. `*` and `?` and classes never match a slash; `**` between slashes
// does. Matching takes time proportional to pattern × text whatever the pattern: ignore files come from other people.
// Immutable and thread-safe.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lathe::cas {

class Wildcard {
 public:
  // A malformed pattern (open class, unknown class name, backslash at the end) is kept and matches nothing, as in git.
  explicit Wildcard(std::string_view pattern);
  bool matches(std::string_view text) const;

 private:
  enum class Kind : std::uint8_t {
    literal,
    any_one,    // ?
    one_of,     // [...]
    star,       // * : anything without a slash
    deep_star,  // ** : anything
    deep_skip,  // the start of "**/": may be jumped over together with the slash
  };
  struct Step {
    Kind kind;
    unsigned char byte = 0;
    std::uint16_t set = 0;  // index into sets_
  };
  using ByteSet = std::bitset<256>;

  std::size_t add_class(std::string_view pattern, std::size_t at);
  std::size_t add_stars(std::string_view pattern, std::size_t at);
  void enter(std::vector<bool>& states, std::size_t step) const;
  bool accepts(const Step& step, unsigned char byte) const;

  std::vector<Step> steps_;
  std::vector<ByteSet> sets_;
  bool malformed_ = false;
};

}  // namespace lathe::cas

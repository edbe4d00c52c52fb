// SecretPatterns: finds secrets in a stream of text and puts *** in their place, in every form in which scripts print
// them: as they are, as base64, percent-encoded, and with the escapes of JSON. Text comes in pieces; the end of a piece
// that may be the beginning of a secret is kept back until more is known. Time is linear in the text. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::runner {

// Shorter ones would hide half of every log, and are no secrets.
inline constexpr std::size_t kShortestSecret = 4;

class SecretPatterns {
 public:
  void add(std::string_view value);
  bool empty() const { return patterns_.empty(); }

  struct Hidden {
    std::string text;         // to be shown
    std::size_t used = 0;     // bytes of the input that are dealt with; the rest is given again, before what follows
    std::size_t covered = 0;  // bytes of that rest which belong to a secret that `text` shows as *** already
  };
  // `covered`: as the call before returned it. `last`: nothing follows.
  Hidden hide(std::string_view input, std::size_t covered, bool last) const;

 private:
  struct Pattern {
    std::string bytes;
    std::vector<std::uint32_t> fallback;  // for each prefix: the longest proper prefix that ends it too
  };
  struct Range {
    std::size_t begin, end;
  };
  void add_form(std::string form);
  // Adds where the pattern lies in the input; returns how many of the last bytes may be its beginning.
  static std::size_t find(const Pattern& pattern, std::string_view input, std::vector<Range>& found);

  std::vector<Pattern> patterns_;
};

}  // namespace lathe::runner

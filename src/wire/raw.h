// A part of a JSON text as it was written: parsing and writing again would keep its meaning but not every digit of its
// numbers, and a client wants back what it gave.
#pragma once

#include <string>
#include <string_view>

namespace lathe::wire {

// The value of `key` in the object `text`, without white space between its tokens; empty when it is absent. `text` must
// have passed parse_json() and be an object.
std::string raw_member(std::string_view text, std::string_view key);
// The object `text` with one more member at its end.
std::string with_raw_member(std::string text, std::string_view key, std::string_view raw);

}  // namespace lathe::wire

// Ranges of text keys: everything that begins with a prefix.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::db {

// The least text greater than all that begin with `prefix`; nothing when there is none.
inline std::optional<std::string> end_of_prefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (end.empty()) return std::nullopt;
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace lathe::db

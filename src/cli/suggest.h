// "Did you mean": the known word nearest to a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace lathe::cli {

// Edits (insert, delete, replace, swap of neighbours) between two words.
std::size_t edit_distance(std::string_view a, std::string_view b);
// The nearest candidate, when it is near enough to be what was meant.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace lathe::cli

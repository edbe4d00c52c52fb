// Distinct id types: a RunId cannot be passed where a node name is wanted. Validation lives in model/names.h.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace lathe::base {

template <class Tag>
struct StringId {
  std::string value;
  auto operator<=>(const StringId&) const = default;
};

}  // namespace lathe::base

template <class Tag>
struct std::hash<lathe::base::StringId<Tag>> {
  std::size_t operator()(const lathe::base::StringId<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.value);
  }
};

// The files that environments need and the binary carries: tables of share/ and small Python programs of envs/tools.
#pragma once

#include <span>
#include <string_view>

namespace lathe::envs {

struct Resource {
  std::string_view name;
  std::string_view bytes;
};

std::span<const Resource> resources();
// One that must be there.
std::string_view resource(std::string_view name);

}  // namespace lathe::envs

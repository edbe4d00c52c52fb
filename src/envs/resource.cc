#include "base/check.h"
#include "envs/resources.h"

namespace lathe::envs {

std::string_view resource(std::string_view name) {
  for (const auto& one : resources())
    if (one.name == name) return one.bytes;
  base::check_failed(__FILE__, __LINE__, "resource", fmt::format("the binary carries no {}", name));
}

}  // namespace lathe::envs

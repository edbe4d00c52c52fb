#include "envs/settings.h"

#include <cstdlib>

namespace lathe::envs {

std::filesystem::path default_cache() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg && *xdg == '/') return std::filesystem::path(xdg) / "lathe" / "environments";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home && *home == '/' ? home : "/var/cache") / (home && *home == '/' ? ".cache" : "") /
         "lathe" / "environments";
}

}  // namespace lathe::envs

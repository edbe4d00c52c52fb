// The environment of programs that build environments: by an allow-list, because code of packages runs below them, and
// the server's own environment may hold anybody's secrets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envs/settings.h"

namespace lathe::envs {

// Kept are: what a program needs at all; what reaches an index (proxies, certificates, PIP_*, UV_*); compilers and
// their flags; what a container engine needs to find itself; and what the site names (environments.variables).
bool reaches_tools(std::string_view name, const std::vector<std::string>& named_by_site);

// Those of this process. Where the settings name a way out (Settings::proxy), it takes the place of all proxies.
std::vector<std::string> tool_variables(const Settings& settings);

}  // namespace lathe::envs

// The fields of environments as the command line shows them, and where they are in the API.
#pragma once

#include <array>

#include "cli/call.h"
#include "cli/named_version.h"

namespace lathe::cli {

inline constexpr std::array kBuildFields{Column{"build", "/id"},
                                         Column{"environment", "/environment"},
                                         Column{"version", "/version"},
                                         Column{"state", "/state"},
                                         Column{"lock", "/lock"},
                                         Column{"error", "/error/message"},
                                         Column{"started", "/started", Shown::time},
                                         Column{"ended", "/ended", Shown::time}};

// The API's path of what NAME[:VERSION] means, or of a part of it.
inline std::string environment_path(const Call& call, const std::string& text, std::string_view part = {}) {
  auto [name, version] = parse_named_version(text);
  auto path = call.workspace_path({"environments", name});
  if (!part.empty()) path += fmt::format("/{}", part);
  return version.empty() ? path : fmt::format("{}?version={}", path, version);
}

}  // namespace lathe::cli

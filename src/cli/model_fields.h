// The fields of one model as the command line shows them.
#pragma once

#include <array>

#include "cli/call.h"
#include "cli/named_version.h"

namespace lathe::cli {

inline constexpr std::array kModelFields{Column{"model", "/name"},
                                         Column{"version", "/version"},
                                         Column{"framework", "/framework"},
                                         Column{"framework version", "/framework_version"},
                                         Column{"run", "/run"},
                                         Column{"files", "/files"},
                                         Column{"bytes", "/bytes", Shown::bytes},
                                         Column{"tree", "/tree"},
                                         Column{"description", "/description"},
                                         Column{"tags", "/tags"},
                                         Column{"properties", "/properties"},
                                         Column{"signature", "/inspection/signatures/0/name"},
                                         Column{"warnings", "/warnings", Shown::list},
                                         Column{"created", "/created", Shown::time}};

// The API's path of what NAME[:VERSION] means.
inline std::string model_path(const Call& call, const std::string& text) {
  auto [name, version] = parse_named_version(text);
  return version.empty() ? call.workspace_path({"models", name})
                         : call.workspace_path({"models", name, "versions", version});
}

}  // namespace lathe::cli

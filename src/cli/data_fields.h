// The fields of one registered dataset as the command line shows them.
#pragma once

#include <array>

#include "cli/call.h"
#include "cli/named_version.h"

namespace lathe::cli {

inline constexpr std::array kDataFields{Column{"dataset", "/name"},
                                        Column{"version", "/version"},
                                        Column{"kind", "/kind"},
                                        Column{"id", "/id"},
                                        Column{"description", "/description"},
                                        Column{"tags", "/tags"},
                                        Column{"definition", "/definition"},
                                        Column{"created", "/created", Shown::time}};

// The API's path of what NAME[:VERSION] means.
inline std::string data_path(const Call& call, const std::string& text) {
  auto [name, version] = parse_named_version(text);
  return call.workspace_path({"datasets", name}) + (version.empty() ? "" : "?version=" + version);
}

}  // namespace lathe::cli

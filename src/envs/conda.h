// Real conda packages, through rattler in a tool environment of its own (envs/tools/conda_tool.py).
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "envs/lock.h"
#include "envs/settings.h"
#include "envs/spec.h"
#include "envs/uv.h"

namespace lathe::envs {

inline constexpr std::string_view kRattlerVersion = "0.28.0";

// Packages and what they need, exactly. Fails naming the packages: `not_found` when no channel has them, `unavailable`
// when no channel can be reached.
base::Result<std::vector<LockedConda>> solve_conda(const Settings& settings, const Uv& uv, const Spec& spec,
                                                   const std::vector<CondaPackage>& packages, const std::string& python,
                                                   const LogSink& log, std::stop_token stop);

// Into `prefix`, with the paths inside of files as they will be below `final_prefix`.
base::Result<void> install_conda(const Settings& settings, const Uv& uv, const std::vector<LockedConda>& packages,
                                 const std::filesystem::path& prefix, const std::filesystem::path& final_prefix,
                                 const LogSink& log, std::stop_token stop);

// The minor version of the Python among them; empty without one.
std::string conda_python(const std::vector<LockedConda>& packages);

}  // namespace lathe::envs

// One environment from its lock: Python, packages, check. Writes into a folder of its own and nothing else, so that a
// failure or a kill leaves nothing that could be taken for an environment.
#pragma once

#include <filesystem>
#include <stop_token>

#include "envs/inventory.h"
#include "envs/lock.h"
#include "envs/settings.h"

namespace lathe::envs {

inline constexpr const char* kSdkFolder = "sdk";  // holds our SDK where an image brings Python and all packages

// `final_prefix`: where it will be moved to.
base::Result<Inventory> build_environment(const Settings& settings, const LockContent& lock,
                                          const std::filesystem::path& prefix,
                                          const std::filesystem::path& final_prefix, const LogSink& log,
                                          std::stop_token stop);

// Takes packages out of uv's cache, so that they are fetched again.
base::Result<void> forget_packages(const Settings& settings, const std::vector<std::string>& names, const LogSink& log,
                                   std::stop_token stop);

}  // namespace lathe::envs

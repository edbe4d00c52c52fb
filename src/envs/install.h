// Installing locked packages into a virtual environment with uv: by hash, without dependencies, linked from uv's cache.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "envs/lock.h"
#include "envs/settings.h"
#include "envs/uv.h"

namespace lathe::envs {

// Lines of a requirements file with hashes; those in `wheels` with the hash of that wheel instead of its source.
struct InstallPlan {
  std::vector<std::string> hashed, unhashed;   // git has no hash but its commit
  std::vector<std::string> sources;            // names of those that uv builds from source
  std::vector<std::filesystem::path> folders;  // of wheels that were built here
};
base::Result<InstallPlan> plan_install(const Settings& settings, const LockContent& lock,
                                       const std::map<std::string, std::filesystem::path>& wheels,
                                       const std::set<std::string>& only = {});

// Everything of the plan, from uv's cache when it holds all, else with the network.
base::Result<void> install(const Settings& settings, const Uv& uv, const LockContent& lock, const InstallPlan& plan,
                           const std::filesystem::path& prefix, const LogSink& log, std::stop_token stop);

// The plan's packages alone, as a folder for PYTHONPATH, with any Python of the node.
base::Result<void> install_into(const Settings& settings, const Uv& uv, const InstallPlan& plan,
                                const std::filesystem::path& folder, const LogSink& log, std::stop_token stop);

// A virtual environment that may be moved.
base::Result<void> make_venv(const Uv& uv, const std::filesystem::path& python, const std::filesystem::path& prefix,
                             std::stop_token stop);

// Indexes and links that the lock names.
PipOptions options_of(const LockContent& lock);

}  // namespace lathe::envs

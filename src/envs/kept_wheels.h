// Kept wheels: what was built here from source packages, below the cache as built/KEY/*.whl, for every environment with
// the same key. Those with a rule of their own (Horovod) come from build_wheel; all others are built by uv while it
// installs, and are taken over from its cache afterwards: uv itself builds a package again for each environment where
// the index does not let it keep the source.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "envs/lock.h"
#include "envs/settings.h"
#include "envs/source_build.h"

namespace lathe::envs {

// What an ordinary source package is built with: tools of the environment's era, which the build sees as a variable.
BuildRule ordinary_rule(const LockContent& lock);

// The wheel of a key, if there is one.
std::optional<std::filesystem::path> find_kept_wheel(const Settings& settings, const std::string& key);
// Synced and linked under its key; somebody else's that came first stays.
base::Result<std::filesystem::path> keep_wheel(const Settings& settings, const std::string& key,
                                               const std::filesystem::path& wheel);

// Ordinary source packages of the lock whose wheels are there: name → wheel.
std::map<std::string, std::filesystem::path> find_ordinary_wheels(const Settings& settings, const LockContent& lock);
// Keeps the wheels that uv has just built for the environment at `prefix`: those whose unpacked files it has linked
// there, and no others.
base::Result<void> keep_ordinary_wheels(const Settings& settings, const LockContent& lock,
                                        const std::filesystem::path& prefix);

}  // namespace lathe::envs

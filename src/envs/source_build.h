// Source builds: packages that must be compiled against others of their environment (share/source_builds.yaml;
// Horovod). The wheel is kept by everything it depends on, so that ten environments build it once.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "envs/lock.h"
#include "envs/settings.h"
#include "envs/uv.h"

namespace lathe::envs {

// What a build sees of the era whose tools it is made with.
inline constexpr std::string_view kEraVariable = "LATHE_AS_OF";

struct BuildRule {
  std::vector<std::string> requires_;            // of the build itself
  std::vector<std::string> with;                 // packages of the lock that it is built against
  std::map<std::string, std::string> variables;  // environment of the build
  std::map<std::string, std::string> programs;   // program → Debian package
  bool mpi = false;
};

// The rule for a package of this lock, with the variables for what the lock holds; nothing for ordinary source
// packages, which uv builds by itself.
std::optional<BuildRule> build_rule(const LockContent& lock, const std::string& package);

// Packages that are missing on this machine as an error that names the command to install them.
base::Result<void> check_programs(const std::string& package, const BuildRule& rule,
                                  const std::filesystem::path& python);

// "4.1.4" of mpirun; empty when there is none.
std::string mpi_version(std::stop_token stop);

// What a built wheel depends on, as a name.
std::string build_key(const LockContent& lock, const LockedPackage& package, const BuildRule& rule,
                      const std::string& mpi);

// The wheel, out of the cache or built now.
base::Result<std::filesystem::path> build_wheel(const Settings& settings, const Uv& uv, const LockContent& lock,
                                                const LockedPackage& package, const BuildRule& rule,
                                                const std::filesystem::path& python, const LogSink& log,
                                                std::stop_token stop);

}  // namespace lathe::envs

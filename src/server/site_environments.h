// EnvironmentRules: what a site decides about environments (`environments:` of config.yaml).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace YAML {
class Node;
}

namespace lathe::server {

struct EnvironmentRules {
  std::filesystem::path interpreter;  // for runs that bring none; with it nothing is built
  std::filesystem::path cache;        // empty: $XDG_CACHE_HOME/lathe/environments
  std::filesystem::path uv;           // empty: looked for, else installed below the cache
  std::filesystem::path engine;       // podman or docker; empty: looked for; "none": images are refused
  std::string index;
  std::vector<std::string> extra_indexes, channels;
  std::vector<std::string> registries;  // "host:port": reached whatever their addresses are
  std::vector<std::string> variables;   // of the server's environment that builds get besides the usual ones
  std::filesystem::path wheelhouse;
  std::vector<std::filesystem::path> pythons;  // folders; empty: the usual ones
  bool offline = false, python_downloads = true, strict = false, era = true;
  bool engine_arguments = true;                             // definitions may give some to the container engine
  bool engine_host_arguments = false;                       // also such as reach the machine: mounts, devices
  std::string substitutions;                                // the text of the file; empty: the built-in table
  std::chrono::seconds keep = std::chrono::hours(24 * 30);  // keep_days: what was not used for so long goes
  std::uint64_t limit_bytes = 0;                            // limit_gb; 0: none
};

// Throws Error(invalid) with the key.
void read_environment_rules(EnvironmentRules& rules, const YAML::Node& node);

}  // namespace lathe::server

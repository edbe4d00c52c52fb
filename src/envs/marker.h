// Marker: the file that makes a realised environment whole. It is the last to be written; without it a folder means
// nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "envs/spec.h"

namespace lathe::envs {

struct Marker {
  base::Digest lock;
  Variables variables;
  std::uint64_t files = 0, bytes = 0;
  std::string interpreter = {};             // empty: that of the environment itself
  std::string image = {};                   // id of the image it is for; empty: none
  std::vector<std::string> arguments = {};  // for the engine that runs the image
};

inline constexpr const char* kMarkerName = "lathe-environment.json";
inline constexpr const char* kInventoryName = "lathe-files.txt";

// The inventory beside it must have been written before. On disk when this returns.
base::Result<void> write_marker(const std::filesystem::path& prefix, const Marker& marker);
// Nothing when it is absent or damaged.
std::optional<Marker> read_marker(const std::filesystem::path& prefix);

}  // namespace lathe::envs

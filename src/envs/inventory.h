// Inventory: the files of a realised environment with their sizes, kept beside the marker. It tells a damaged
// environment (a file that is gone or of another size) from a whole one without reading contents. Byte code is not part
// of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace lathe::envs {

struct Inventory {
  std::map<std::string, std::uint64_t> files;  // path below the prefix → size; links count as empty
  std::uint64_t bytes() const;
};

base::Result<Inventory> take_inventory(const std::filesystem::path& prefix);
std::string write_inventory(const Inventory& inventory);
base::Result<Inventory> parse_inventory(std::string_view text);

// Paths that are missing or of another size; what came in addition does not matter.
base::Result<std::vector<std::string>> damaged_files(const std::filesystem::path& prefix, const Inventory& wanted);

// Compares with what the packages themselves recorded (RECORD): names of the distributions with files of another size.
// Finds what was damaged in the installer's cache before it came here.
std::vector<std::string> damaged_packages(const std::filesystem::path& prefix, const Inventory& found);
// The distributions that these files belong to.
std::vector<std::string> owners_of(const std::filesystem::path& prefix, const Inventory& inventory,
                                   const std::vector<std::string>& files);

}  // namespace lathe::envs

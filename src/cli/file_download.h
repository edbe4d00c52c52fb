// Files from the server onto this disk: under their own names below a folder, whole or not at all, with their digests
// checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/call.h"

namespace lathe::cli {

struct RemoteFile {
  std::string path;    // below the target folder; checked not to leave it
  std::string target;  // where the API gives its bytes
  std::string digest;  // empty: not known
  std::uint64_t size = 0;
  bool executable = false;
};

// Fetches all of them, prints their paths (an array with -o json), and gives the exit status.
base::Result<int> download_files(Call& call, const std::vector<RemoteFile>& files, const std::filesystem::path& folder);

// For commands that end with download_tree().
inline constexpr std::array kToOption{Option{
    .name = "to", .value = "DIR", .help = "where the files go", .fallback = ".", .completes = Completes::folder}};
// All files of a tree into the folder of --to.
base::Result<int> download_tree(Call& call, const std::string& tree);

}  // namespace lathe::cli

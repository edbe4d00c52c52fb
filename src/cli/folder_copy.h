// Copying parts of a state folder for backup and restore. Files are linked where they never change and the file system
// allows it, else copied; sync_folder() makes all of it durable.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/digest.h"
#include "base/error.h"

namespace lathe::cli {

struct CopySummary {
  std::uint64_t files = 0, bytes = 0, already = 0;
};

// Every blob of one store root into another; those that are there already are left alone.
base::Result<CopySummary> copy_blobs(const std::filesystem::path& from, const std::filesystem::path& to);
// As above, but always copied, and hashed on the way: a damaged blob is Error(corrupt).
base::Result<CopySummary> copy_blobs_verified(const std::filesystem::path& from, const std::filesystem::path& to);
// A folder of changing files as they are now; one that vanishes meanwhile is left out. A missing folder is empty.
base::Result<CopySummary> copy_folder(const std::filesystem::path& from, const std::filesystem::path& to);
// One file, with its permissions; `digest` gets its hash when asked for.
base::Result<std::uint64_t> copy_one_file(const std::filesystem::path& from, const std::filesystem::path& to,
                                          base::Digest* digest = nullptr);
base::Result<void> sync_folder(const std::filesystem::path& folder);

}  // namespace lathe::cli

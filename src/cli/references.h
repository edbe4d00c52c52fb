// Whether a state folder that nobody works on holds every blob that its database names.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace lathe::cli {

// Error(corrupt) with the number of missing blobs; the files of snapshots count as named.
base::Result<void> check_references(const std::filesystem::path& state);

}  // namespace lathe::cli

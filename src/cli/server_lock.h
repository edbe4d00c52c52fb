// Who holds a state folder. The lock file names the process; it holds the folder while it has that file open.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace lathe::cli {

// The lock itself is never tried: a try would make a server that starts at this moment believe it is held.
std::optional<pid_t> lock_holder(const std::filesystem::path& state);

}  // namespace lathe::cli

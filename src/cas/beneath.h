// Opening files below a folder without ever leaving it: no "..", no symbolic link on the way, no magic link. The kernel
// decides (openat2), so that swapping a folder for a link meanwhile gains nothing.
#pragma once

#include <sys/types.h>

#include <string>

#include "sys/file_system.h"

namespace lathe::cas {

// errno is set when the result is empty. `path` "" is the folder itself.
sys::File open_beneath(int folder_fd, const std::string& path, int flags, mode_t mode = 0);

}  // namespace lathe::cas

// Small files of the kernel's own file systems (/proc, /sys): read whole, written with one write(2).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::sys {

base::Result<std::string> read_small_file(const std::filesystem::path& path);
base::Result<void> write_small_file(const std::filesystem::path& path, std::string_view text);

}  // namespace lathe::sys

// Small files: settings, tokens, configuration. Nothing here is for blobs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::cli {

// At most `limit` bytes; a longer file is too_large.
base::Result<std::string> read_small_file(const std::filesystem::path& file, std::size_t limit = 1 << 20);
// By a temporary file beside it and a rename, so that a reader sees the old or the new one.
base::Result<void> replace_file(const std::filesystem::path& file, std::string_view content, unsigned mode = 0644);

}  // namespace lathe::cli

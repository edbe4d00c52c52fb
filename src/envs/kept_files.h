// Kept files: wheels that no index has (those of source folders, our own SDK), below the cache by their digest.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "envs/lock.h"
#include "envs/settings.h"

namespace lathe::envs {

// Copies it into the cache, unless it is there; `corrupt` when its bytes are not those of the digest.
base::Result<std::filesystem::path> keep_file(const Settings& settings, const std::filesystem::path& from,
                                              const std::string& name, const base::Digest& sha256);
// Out of the cache, else by the settings' fetch_file.
base::Result<std::filesystem::path> get_file(const Settings& settings, const LockedFile& file);

// The path behind a location of uv ("file:///…", a path) when it lies in the source folder; else empty.
base::Result<std::filesystem::path> file_of_source_folder(const Settings& settings, std::string_view location);

base::Result<base::Digest> digest_of_file(const std::filesystem::path& path);

}  // namespace lathe::envs

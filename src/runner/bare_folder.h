// A folder of a run, made bare: empty but for the folders that every run has (outputs, logs), empty too. Making and
// removing folders is the dearest part of a short run on ext4, so the next task of this machine gets the bare one; a
// folder that is not as we made it (a link, other rights, attributes) is removed instead.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lathe::runner {

// The folders of a run whose files are kept.
const std::vector<std::string>& kept_folders();
// The folders in a task's folder box/: its /tmp, its /var/tmp, and its home where it has a user of its own.
const std::vector<std::string>& box_folders();

// False when something could not be removed.
bool make_bare(const std::filesystem::path& folder, std::span<const std::string> kept);

}  // namespace lathe::runner

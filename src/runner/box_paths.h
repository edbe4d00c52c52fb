// Where programs and what belongs to them lie, and who can get there: questions that a box asks about paths.
#pragma once

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "sys/confinement.h"

namespace lathe::runner {

// Whether `path` is `folder` or below it, by name.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);
// Whether every folder on the way lets this user pass, and the last one lets it look.
bool is_open_to(const std::filesystem::path& path, const sys::ProgramUser& user);
// The folder that a folder of programs belongs to: /opt/tool for /opt/tool/bin. Itself when that is not clear.
std::filesystem::path program_folder(const std::filesystem::path& folder);
// In which an interpreter lies, every link on the way to it, and the one that its virtual environment was made of.
std::vector<std::filesystem::path> folders_of_program(const std::filesystem::path& program);
// Everything below, links themselves and not what they name, and nothing that is mounted there. Nobody else may write there meanwhile.
base::Result<void> give_tree(const std::filesystem::path& folder, const sys::ProgramUser& user);

}  // namespace lathe::runner

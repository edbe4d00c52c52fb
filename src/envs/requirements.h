// What a spec wants from package indexes, all in one list: its pip lines, the requirement files of the source folder,
// and the conda packages that PyPI has. What is left over are real conda packages.
#pragma once

#include <string>
#include <vector>

#include "envs/settings.h"
#include "envs/spec.h"

namespace lathe::envs {

struct Requirements {
  std::vector<std::string> list, constraints;
  PipOptions options;  // also those out of requirement files
  std::vector<CondaPackage> conda;
};

base::Result<Requirements> gather_requirements(const Settings& settings, const Spec& spec);

// A file of the source folder by the path that a definition names; never outside of the folder, also not by a link.
base::Result<std::filesystem::path> source_file(const Settings& settings, std::string_view path);

}  // namespace lathe::envs

#include "envs/known_metadata.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "envs/resources.h"

namespace lathe::envs {

std::string known_metadata() {
  std::string out;
  for (const auto& package : YAML::Load(std::string(resource("known_metadata.yaml")))) {
    std::string needs;
    for (const auto& one : package["requires"])
      needs += fmt::format("{}\"{}\"", needs.empty() ? "" : ", ", one.Scalar());
    for (const auto& version : package["versions"])
      out += fmt::format("[[dependency-metadata]]\nname = \"{}\"\nversion = \"{}\"\nrequires-dist = [{}]\n\n",
                         package["name"].Scalar(), version.Scalar(), needs);
  }
  return out;
}

}  // namespace lathe::envs

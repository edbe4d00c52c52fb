#include "envs/conda_names.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/strings.h"
#include "envs/resources.h"

namespace lathe::envs {
namespace {

// Conda name → name on PyPI; empty for what every node has.
std::map<std::string, std::string, std::less<>> read_names() {
  YAML::Node root = YAML::Load(std::string(resource("conda_names.yaml")));
  std::map<std::string, std::string, std::less<>> out;
  for (const auto& item : root["same"]) out[item.Scalar()] = item.Scalar();
  for (const auto& entry : root["other"]) out[entry.first.Scalar()] = entry.second.Scalar();
  for (const auto& item : root["system"]) out[item.Scalar()] = "";
  return out;
}

bool is_usual_channel(std::string_view channel) {
  static constexpr std::array kUsual{"", "defaults", "anaconda", "main", "conda-forge", "pytorch", "intel", "nvidia"};
  return std::ranges::find(kUsual, channel) != kUsual.end();
}

}  // namespace

std::string pypi_version(std::string_view version) {
  if (version.empty() || version == "*") return {};
  if (version.find_first_of("<>!~,") != std::string_view::npos) return std::string(version);
  if (version.starts_with("==")) return std::string(version);
  if (version.ends_with(".*")) return "==" + std::string(version);
  if (version.ends_with('*')) return "==" + std::string(version.substr(0, version.size() - 1)) + ".*";
  const bool whole = std::ranges::count(version, '.') >= 2;
  return "==" + std::string(version) + (whole ? "" : ".*");
}

std::optional<CondaOnPypi> conda_on_pypi(const CondaPackage& package) {
  static const auto kNames = read_names();
  if (!is_usual_channel(package.channel) || package.version.find('|') != std::string::npos) return std::nullopt;
  auto found = kNames.find(package.name);
  if (found == kNames.end()) return std::nullopt;
  if (found->second.empty()) return CondaOnPypi{};
  return CondaOnPypi{found->second + pypi_version(package.version)};
}

}  // namespace lathe::envs

#include <yaml-cpp/yaml.h>

#include <boost/json.hpp>

#include "base/strings.h"
#include "server/curated_environments.h"

namespace lathe::server {
namespace {

namespace json = boost::json;

json::array texts(const YAML::Node& list) {
  json::array out;
  for (const auto& item : list) out.push_back(json::string(item.as<std::string>()));
  return out;
}

// The shape that Environment.save_to_directory writes (docs/user/sdk.md).
json::object definition(const std::string& name, const YAML::Node& node) {
  json::array dependencies;
  dependencies.push_back(json::string("python=" + node["python"].as<std::string>()));
  for (auto& package : texts(node["conda"])) dependencies.push_back(package);
  dependencies.push_back(json::object{{"pip", texts(node["pip"])}});
  json::object conda{{"channels", json::array{"anaconda", "conda-forge"}},
                     {"dependencies", std::move(dependencies)},
                     {"name", "azureml_environment"}};
  return {{"name", name},
          {"version", "1"},
          {"environmentVariables", {{"EXAMPLE_ENV_VAR", "EXAMPLE_VALUE"}}},
          {"python",
           {{"interpreterPath", "python"},
            {"userManagedDependencies", false},
            {"condaDependencies", std::move(conda)},
            {"baseCondaEnvironment", nullptr}}},
          {"docker",
           {{"enabled", true},
            {"baseImage", node["image"].as<std::string>()},
            {"baseDockerfile", nullptr},
            {"sharedVolumes", true},
            {"shmSize", nullptr},
            {"arguments", json::array()}}},
          {"inferencingStackVersion", nullptr}};
}

std::map<std::string, json::object, std::less<>> read_catalogue() {
  std::map<std::string, json::object, std::less<>> all;
  for (const auto& entry : YAML::Load(std::string(kCuratedYaml))) {
    auto name = entry.first.as<std::string>();
    all.emplace(name, definition(name, entry.second));
  }
  return all;
}

}  // namespace

const std::map<std::string, json::object, std::less<>>& curated_environments() {
  static const auto catalogue = read_catalogue();
  return catalogue;
}

bool is_reserved_environment(std::string_view name) {
  auto lower = base::to_lower(name);
  return lower.starts_with("azureml") || lower.starts_with("microsoft");
}

}  // namespace lathe::server

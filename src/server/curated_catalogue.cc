#include <yaml-cpp/yaml.h>

#include <boost/json.hpp>

#include "base/strings.h"
#include "server/curated_environments.h"

namespace lathe::server {
namespace {

namespace json = boost::json;

// As a conda file has them: texts, and one object with the list of pip's.
json::array dependencies(const YAML::Node& list) {
  json::array out;
  for (const auto& item : list) {
    if (!item.IsMap())
      out.push_back(json::string(item.as<std::string>()));
    else
      out.push_back(json::object{{"pip", dependencies(item["pip"])}});
  }
  return out;
}

json::object variables(const YAML::Node& map) {
  json::object out{{"EXAMPLE_ENV_VAR", "EXAMPLE_VALUE"}};
  for (const auto& entry : map) out[entry.first.as<std::string>()] = entry.second.as<std::string>();
  return out;
}

// The shape that Environment.save_to_directory writes (docs/user/sdk.md).
json::object definition(const YAML::Node& file) {
  json::object conda{{"channels", json::array{"anaconda", "conda-forge"}},
                     {"dependencies", dependencies(file["dependencies"])},
                     {"name", "azureml_environment"}};
  return {{"name", file["name"].as<std::string>()},
          {"environmentVariables", variables(file["variables"])},
          {"python",
           {{"interpreterPath", "python"},
            {"userManagedDependencies", false},
            {"condaDependencies", std::move(conda)},
            {"baseCondaEnvironment", nullptr}}},
          {"docker",
           {{"enabled", true},
            {"baseImage", file["image"].as<std::string>()},
            {"baseDockerfile", nullptr},
            {"sharedVolumes", true},
            {"shmSize", nullptr},
            {"arguments", json::array()}}},
          {"inferencingStackVersion", nullptr}};
}

std::map<std::string, json::object, std::less<>> read_catalogue() {
  std::map<std::string, json::object, std::less<>> all;
  for (const auto& file : curated_files()) {
    auto node = YAML::Load(std::string(file.bytes));
    all.emplace(node["name"].as<std::string>(), definition(node));
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

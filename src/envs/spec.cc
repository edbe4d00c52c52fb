#include "envs/spec.h"

#include <boost/json.hpp>

#include "base/strings.h"
#include "base/time.h"
#include "envs/engine_arguments.h"
#include "envs/pip_lines.h"

namespace lathe::envs {
namespace {

namespace json = boost::json;
using base::Code;
using base::Error;
using base::Result;

constexpr std::size_t kMaxDefinition = 4 << 20;
constexpr std::size_t kMaxPackages = 5000;
const std::string kDependencies = "python.condaDependencies.dependencies";

std::unexpected<Error> refuse(const std::string& field, std::string message, std::string hint = {}) {
  return base::fail(Error(Code::invalid, std::move(message)).field(field).hint(std::move(hint)));
}

// null and absent are the same in what SDKs write.
const json::value* member(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found && !found->is_null() ? found : nullptr;
}

Result<const json::object*> section(const json::object& object, std::string_view key) {
  static const json::object kNone;
  const json::value* found = member(object, key);
  if (!found) return &kNone;
  if (!found->is_object()) return refuse(std::string(key), fmt::format("{} must be an object", key));
  return &found->get_object();
}

Result<std::string> text(const json::object& object, std::string_view key, const std::string& field) {
  const json::value* found = member(object, key);
  if (!found) return std::string();
  if (!found->is_string()) return refuse(field, fmt::format("{} must be a text", field));
  return std::string(found->get_string());
}

Result<bool> flag(const json::object& object, std::string_view key, const std::string& field) {
  const json::value* found = member(object, key);
  if (!found) return false;
  if (!found->is_bool()) return refuse(field, fmt::format("{} must be true or false", field));
  return found->get_bool();
}

Result<void> take_pip(Spec& spec, const json::value& list) {
  const std::string field = kDependencies + ".pip";
  if (list.is_null()) return {};
  if (!list.is_array()) return refuse(field, "pip must be a list of texts");
  for (const auto& item : list.get_array()) {
    if (!item.is_string()) return refuse(field, "pip must be a list of texts");
    LATHE_TRY_VOID(take_pip_line(spec, item.get_string(), field));
  }
  return {};
}

Result<void> take_dependency(Spec& spec, const json::value& item) {
  if (item.is_object()) {
    const auto& map = item.get_object();
    if (map.size() == 1 && map.begin()->key() == "pip") return take_pip(spec, map.begin()->value());
    return refuse(kDependencies, "only pip may have a list of its own among the dependencies");
  }
  if (!item.is_string()) return refuse(kDependencies, "a dependency is a text such as numpy=1.18");
  LATHE_TRY(auto package, parse_conda_package(std::string_view(item.get_string())));
  if (package.name == "pip" || package.name == "setuptools" || package.name == "wheel") return {};
  if (package.name == "python")
    spec.python = package.version.starts_with("==") ? package.version.substr(2) : package.version;
  else if (package.name.starts_with("azureml-"))
    spec.sdk_names.push_back(package.name);
  else
    spec.conda.push_back(std::move(package));
  return {};
}

Result<void> take_conda(Spec& spec, const json::object& conda) {
  if (const auto* list = member(conda, "dependencies")) {
    if (!list->is_array()) return refuse(kDependencies, "dependencies must be a list");
    for (const auto& item : list->get_array()) LATHE_TRY_VOID(take_dependency(spec, item));
  }
  if (const auto* list = member(conda, "channels")) {
    if (!list->is_array()) return refuse("python.condaDependencies.channels", "channels must be a list of texts");
    for (const auto& item : list->get_array()) {
      if (!item.is_string()) return refuse("python.condaDependencies.channels", "channels must be a list of texts");
      if (item.get_string() != "nodefaults") spec.channels.emplace_back(item.get_string());
    }
  }
  if (spec.pip.size() + spec.conda.size() > kMaxPackages)
    return base::fail(Code::too_large, "an environment may name {} packages at most", kMaxPackages);
  return {};
}

Result<void> take_python(Spec& spec, const json::object& python) {
  LATHE_TRY(spec.user_managed, flag(python, "userManagedDependencies", "python.userManagedDependencies"));
  LATHE_TRY(spec.interpreter, text(python, "interpreterPath", "python.interpreterPath"));
  LATHE_TRY(auto base, text(python, "baseCondaEnvironment", "python.baseCondaEnvironment"));
  if (spec.user_managed) return {};
  if (!base.empty())
    return refuse("python.baseCondaEnvironment",
                  fmt::format("the conda environment {} of an image cannot be extended here", base::printable(base)),
                  "name its packages in the conda dependencies");
  LATHE_TRY(const auto* conda, section(python, "condaDependencies"));
  return take_conda(spec, *conda);
}

Result<void> take_variables(Spec& spec, const json::object& definition) {
  LATHE_TRY(const auto* variables, section(definition, "environmentVariables"));
  for (const auto& [name, value] : *variables) {
    const std::string field = "environmentVariables." + std::string(name);
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string_view::npos)
      return refuse("environmentVariables", "the name of a variable is empty or holds '='");
    if (!value.is_string() || value.get_string().find('\0') != json::string::npos)
      return refuse(field, fmt::format("the value of {} must be a text", base::printable(std::string_view(name))));
    spec.variables.emplace(std::string(name), std::string(value.get_string()));
  }
  if (auto found = spec.variables.find("LATHE_AS_OF"); found != spec.variables.end()) {
    spec.as_of = found->second;
    spec.variables.erase(found);
    if (spec.as_of != "off" && !base::parse_utc(spec.as_of + "T00:00:00Z"))
      return refuse("environmentVariables.LATHE_AS_OF",
                    fmt::format("LATHE_AS_OF must be a date or off, not '{}'", base::printable(spec.as_of)),
                    "write e.g. 2020-12-31");
  }
  return {};
}

Result<void> take_docker(Spec& spec, const json::object& docker) {
  LATHE_TRY(spec.image.enabled, flag(docker, "enabled", "docker.enabled"));
  LATHE_TRY(spec.image.reference, text(docker, "baseImage", "docker.baseImage"));
  LATHE_TRY(spec.image.dockerfile, text(docker, "baseDockerfile", "docker.baseDockerfile"));
  if (!spec.image.wanted()) return {};
  std::vector<std::string> arguments;
  if (const auto* list = member(docker, "arguments")) {
    if (!list->is_array()) return refuse("docker.arguments", "arguments must be a list of texts");
    for (const auto& item : list->get_array()) {
      if (!item.is_string()) return refuse("docker.arguments", "arguments must be a list of texts");
      arguments.emplace_back(item.get_string());
    }
  }
  LATHE_TRY(auto shm_size, text(docker, "shmSize", "docker.shmSize"));
  LATHE_TRY(spec.image.arguments, engine_arguments(arguments, shm_size));
  return {};
}

}  // namespace

Result<Spec> parse_definition(std::string_view json_text) {
  if (json_text.size() > kMaxDefinition)
    return base::fail(Code::too_large, "an environment definition may have 4 MiB at most");
  boost::system::error_code problem;
  json::value root = json::parse(json_text, problem);
  if (problem || !root.is_object()) return refuse("", "an environment definition is a JSON object");
  const json::object& definition = root.get_object();
  Spec spec;
  LATHE_TRY(spec.name, text(definition, "name", "name"));
  LATHE_TRY(const auto* python, section(definition, "python"));
  LATHE_TRY_VOID(take_python(spec, *python));
  LATHE_TRY_VOID(take_variables(spec, definition));
  LATHE_TRY(const auto* docker, section(definition, "docker"));
  LATHE_TRY_VOID(take_docker(spec, *docker));
  return spec;
}

}  // namespace lathe::envs

// Reading config.yaml: each value through a function that refuses a wrong one by the name of its key. Throws Error.
#pragma once

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace lathe::server {

using YamlReader = std::function<void(const YAML::Node&)>;

[[noreturn]] void refuse(const std::string& key, const YAML::Node& node, const std::string& expected);
// Reads a map through a table of its keys, so that an unknown one is always noticed.
void read_map(const std::string& prefix, const YAML::Node& node, const std::map<std::string, YamlReader>& readers);
double read_number(const std::string& key, const YAML::Node& node, double low, double high);
std::string read_text(const std::string& key, const YAML::Node& node);
std::vector<std::string> read_strings(const std::string& key, const YAML::Node& node);
std::filesystem::path read_absolute(const std::string& key, const YAML::Node& node);

template <class T>
T read_word(const std::string& key, const YAML::Node& node, const std::map<std::string, T>& words) {
  auto found = node.IsScalar() ? words.find(node.Scalar()) : words.end();
  if (found != words.end()) return found->second;
  std::string known;
  for (const auto& [word, value] : words) known += (known.empty() ? "" : " or ") + word;
  refuse(key, node, known);
}
inline bool read_flag(const std::string& key, const YAML::Node& node) {
  return read_word<bool>(key, node, {{"true", true}, {"false", false}});
}

}  // namespace lathe::server

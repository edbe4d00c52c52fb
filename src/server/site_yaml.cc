#include "server/site_yaml.h"

#include <cmath>

#include "base/strings.h"

namespace lathe::server {

using base::Code;
using base::Error;

[[noreturn]] void refuse(const std::string& key, const YAML::Node& node, const std::string& expected) {
  std::string got = node.IsScalar()     ? "'" + base::printable(node.Scalar(), 60) + "'"
                    : node.IsSequence() ? "a list"
                                        : "a map";
  throw Error(Code::invalid, fmt::format("config.yaml: {} must be {}, not {}", key, expected, got)).field(key);
}

void read_map(const std::string& prefix, const YAML::Node& node, const std::map<std::string, YamlReader>& readers) {
  if (node.IsNull()) return;
  if (!node.IsMap()) refuse(prefix.empty() ? "the file" : prefix, node, "a map");
  for (const auto& entry : node) {
    std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    auto found = readers.find(key);
    std::string full = prefix.empty() ? key : prefix + "." + key;
    if (found == readers.end()) {
      std::string known;
      for (const auto& [name, reader] : readers) known += (known.empty() ? "" : ", ") + name;
      throw Error(Code::invalid, fmt::format("config.yaml: unknown key '{}'", base::printable(full, 80)))
          .field(full)
          .hint("known here: " + known);
    }
    found->second(entry.second);
  }
}

double read_number(const std::string& key, const YAML::Node& node, double low, double high) {
  double value = 0;
  if (!node.IsScalar() || !YAML::convert<double>::decode(node, value) || !std::isfinite(value) || value < low ||
      value > high)
    refuse(key, node, fmt::format("a number from {} to {}", low, high));
  return value;
}

std::vector<std::string> read_strings(const std::string& key, const YAML::Node& node) {
  if (!node.IsSequence()) refuse(key, node, "a list of strings");
  std::vector<std::string> out;
  for (const auto& item : node) {
    if (!item.IsScalar()) refuse(key, item, "a list of strings");
    out.push_back(item.Scalar());
  }
  return out;
}

std::string read_text(const std::string& key, const YAML::Node& node) {
  if (!node.IsScalar() || node.Scalar().empty()) refuse(key, node, "a text");
  return node.Scalar();
}

std::filesystem::path read_absolute(const std::string& key, const YAML::Node& node) {
  std::filesystem::path path = node.IsScalar() ? node.Scalar() : "";
  if (!path.is_absolute()) refuse(key, node, "an absolute path");
  return path;
}

}  // namespace lathe::server

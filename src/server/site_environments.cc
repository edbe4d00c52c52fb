#include "server/site_environments.h"

#include <fstream>
#include <sstream>

#include "server/site_yaml.h"

namespace lathe::server {
namespace {

std::string read_file(const std::string& key, const YAML::Node& node) {
  auto path = read_absolute(key, node);
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream.is_open() || stream.bad() || text.str().empty()) refuse(key, node, "a file that can be read");
  return text.str();
}

std::vector<std::filesystem::path> read_folders(const std::string& key, const YAML::Node& node) {
  std::vector<std::filesystem::path> out;
  for (const auto& text : read_strings(key, node)) {
    if (!std::filesystem::path(text).is_absolute()) refuse(key, node, "a list of absolute paths");
    out.emplace_back(text);
  }
  return out;
}

// Where a name and password may be: in the workspace's secrets, never in a file that is shown around.
std::string read_index(const std::string& key, const YAML::Node& node, const std::string& url) {
  if (!url.starts_with("https://") && !url.starts_with("http://") && !url.starts_with("file:///"))
    refuse(key, node, "a URL that begins with https://, http:// or file:///");
  if (url.find('@') != std::string::npos) refuse(key, node, "a URL without a password (keep it in a secret)");
  return url;
}

}  // namespace

void read_environment_rules(EnvironmentRules& rules, const YAML::Node& node) {
  const std::string prefix = "environments.";
  auto path = [&](const char* key, std::filesystem::path& out) {
    return std::pair<const std::string, YamlReader>(
        key, [&out, prefix, key](auto& n) { out = read_absolute(prefix + key, n); });
  };
  auto flag = [&](const char* key, bool& out) {
    return std::pair<const std::string, YamlReader>(key,
                                                    [&out, prefix, key](auto& n) { out = read_flag(prefix + key, n); });
  };
  read_map(
      "environments", node,
      {
          path("interpreter", rules.interpreter),
          path("cache", rules.cache),
          path("uv", rules.uv),
          path("wheelhouse", rules.wheelhouse),
          {"engine",
           [&](auto& n) {
             rules.engine = n.IsScalar() && n.Scalar() == "none" ? "none" : read_absolute(prefix + "engine", n);
           }},
          flag("offline", rules.offline),
          flag("python_downloads", rules.python_downloads),
          flag("engine_arguments", rules.engine_arguments),
          flag("engine_host_arguments", rules.engine_host_arguments),
          flag("strict", rules.strict),
          {"era",
           [&](auto& n) {
             rules.era =
                 read_word<bool>(prefix + "era", n, {{"on", true}, {"off", false}, {"true", true}, {"false", false}});
           }},
          {"index", [&](auto& n) { rules.index = read_index(prefix + "index", n, read_text(prefix + "index", n)); }},
          {"extra_indexes",
           [&](auto& n) {
             for (const auto& url : read_strings(prefix + "extra_indexes", n))
               rules.extra_indexes.push_back(read_index(prefix + "extra_indexes", n, url));
           }},
          {"channels", [&](auto& n) { rules.channels = read_strings(prefix + "channels", n); }},
          {"registries", [&](auto& n) { rules.registries = read_strings(prefix + "registries", n); }},
          {"variables", [&](auto& n) { rules.variables = read_strings(prefix + "variables", n); }},
          {"pythons", [&](auto& n) { rules.pythons = read_folders(prefix + "pythons", n); }},
          {"substitutions", [&](auto& n) { rules.substitutions = read_file(prefix + "substitutions", n); }},
          {"keep_days",
           [&](auto& n) {
             rules.keep = std::chrono::seconds(
                 static_cast<std::int64_t>(read_number(prefix + "keep_days", n, 0, 36500) * 86400));
           }},
          {"limit_gb",
           [&](auto& n) {
             rules.limit_bytes = static_cast<std::uint64_t>(read_number(prefix + "limit_gb", n, 0, 1e9) * (1 << 30));
           }},
      });
}

}  // namespace lathe::server

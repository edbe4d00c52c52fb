#include <cctype>

#include "base/strings.h"
#include "envs/spec.h"

namespace lathe::envs {

std::string distribution_name(std::string_view requirement) {
  requirement = base::trim(requirement);
  if (auto scope = requirement.rfind("::"); scope != std::string_view::npos)
    requirement = requirement.substr(scope + 2);
  std::string_view name = requirement.substr(0, requirement.find_first_of("[<>=!~; @("));
  std::string out;
  for (char c : name) {
    if (c == '-' || c == '_' || c == '.') {
      if (!out.ends_with('-')) out.push_back('-');
    } else if (std::isalnum(static_cast<unsigned char>(c))) {
      out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    } else {
      return {};
    }
  }
  return out;
}

std::optional<std::string> exact_pin(std::string_view requirement) {
  requirement = base::trim(requirement.substr(0, requirement.find(';')));
  auto at = requirement.find("==");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view version = requirement.substr(at + 2);
  if (version.starts_with('=')) version.remove_prefix(1);
  version = base::trim(version);
  if (version.empty() || version.find_first_of("*,<>=!~ @") != std::string_view::npos) return std::nullopt;
  // "a>=1,==2" is a pin as well, but one that nobody writes.
  if (requirement.substr(0, at).find_first_of(",<>!~") != std::string_view::npos) return std::nullopt;
  return std::string(version);
}

std::string CondaPackage::text() const {
  std::string out = channel.empty() ? name : channel + "::" + name;
  if (!version.empty()) out += (std::isdigit(static_cast<unsigned char>(version[0])) ? "=" : "") + version;
  if (!build.empty()) out += "=" + build;
  return out;
}

}  // namespace lathe::envs

// Alias wheels: packages of the vendor by name and version, each an empty wheel that needs our SDK, so that a pin such
// as `azureml-defaults==1.15.0` is met by this server. A package index does not hear which version is asked for, so it
// names all that may be: a generous set by rule, in which every published version lies. The wheels are made when they
// are fetched, and are the same each time. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::server {

// In no order; "1.15.0", "1.0.85", "1.6.0.post1".
std::vector<std::string> alias_versions(std::string_view project);

// "azureml_defaults-1.15.0-py3-none-any.whl"
std::string alias_wheel_name(std::string_view project, std::string_view version);
// The project and version of such a name; false for any other.
bool parse_alias_wheel_name(std::string_view file, std::string& project, std::string& version);
// The wheel's bytes; `needs` is a requirement such as "lathe-sdk (==0.1.0)".
std::string make_alias_wheel(std::string_view project, std::string_view version, std::string_view needs);

}  // namespace lathe::server

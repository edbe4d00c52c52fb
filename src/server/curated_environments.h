// The curated environments: names that existing scripts ask for, as definitions in the form of the SDK. Immutable.
#pragma once

#include <boost/json/fwd.hpp>
#include <map>
#include <string>
#include <string_view>

namespace lathe::server {

extern const std::string_view kCuratedYaml;  // share/curated_environments.yaml

// By name; made when first asked for.
const std::map<std::string, boost::json::object, std::less<>>& curated_environments();
// Whether the name is reserved for them: it begins with AzureML or Microsoft, in any case of letters.
bool is_reserved_environment(std::string_view name);

}  // namespace lathe::server

// The curated environments: names that existing scripts ask for, as definitions in the form of the SDK. Immutable; made
// from curated/*.yml, which the binary carries.
#pragma once

#include <boost/json/fwd.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace lathe::server {

struct CuratedFile {
  std::string_view name;  // "AzureML-Minimal.yml"
  std::string_view bytes;
};

std::span<const CuratedFile> curated_files();

// By name; made when first asked for.
const std::map<std::string, boost::json::object, std::less<>>& curated_environments();
// Whether the name is reserved for them: it begins with AzureML or Microsoft, in any case of letters.
bool is_reserved_environment(std::string_view name);

}  // namespace lathe::server

// Where a definition sends the tools that build it: each URL in it, with the field that holds it. Nothing is resolved
// or fetched. What may be reached is the caller's to say (Settings::check_url).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "envs/spec.h"

namespace lathe::envs {

struct NamedUrl {
  std::string url;    // "git+https://host/…" as it was written
  std::string field;  // below the definition
};
std::vector<NamedUrl> named_urls(const Spec& spec);

using UrlCheck = std::function<base::Result<void>(std::string_view url)>;
// The first refusal, with its field.
base::Result<void> check_sources(const Spec& spec, const UrlCheck& check);

}  // namespace lathe::envs

// Files that are named as artifacts of a run, by its runner or by a client: the checks that both share.
#pragma once

#include <boost/json/fwd.hpp>
#include <string_view>
#include <vector>

#include "db/artifacts.h"
#include "server/core.h"

namespace lathe::server {

// {"<key>": [{"path", "digest", "size", "executable"?}, …]}; anything else is refused by name.
std::vector<db::artifacts::Artifact> read_artifacts(const boost::json::value& body, std::string_view key);
// Refuses (invalid, field `key`) a file whose blob is not in the store: nothing may name one that is not here.
rt::Task<void> require_blobs(Core& core, const std::vector<db::artifacts::Artifact>& files, std::string_view key);

}  // namespace lathe::server

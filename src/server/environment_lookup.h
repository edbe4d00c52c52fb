// Which definition an environment's name means, and how builds tell definitions apart.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <string>

#include "base/digest.h"
#include "db/sqlite.h"
#include "envs/spec.h"
#include "server/site_config.h"

namespace lathe::server {

struct Definition {
  std::string name, version;  // as it is registered; empty: it is not
  std::string text;           // canonical, without name and version
  base::Digest digest;        // of the text
};

Definition make_definition(const boost::json::object& definition);
// What a script gets that asks for nothing: a Python of the machine with the SDK.
Definition plain_definition();
// Registered or curated; `number` 0 is the newest. Throws not_found.
Definition find_definition(db::Connection& connection, const std::string& workspace, const std::string& name,
                           std::int64_t number);

// Checks it. Throws invalid with the field below `environment.definition`.
envs::Spec read_definition(const Definition& definition);
// Also that it sends nobody where this site does not go (server/outbound_rules.h).
envs::Spec read_new_definition(const SiteConfig& site, const Definition& definition);
// Whether it names files of the run's source folder: then what it means depends on them.
bool names_files(const envs::Spec& spec);
// Equal keys are the same work.
base::Digest build_key(const base::Digest& definition, const std::optional<base::Digest>& source);

}  // namespace lathe::server

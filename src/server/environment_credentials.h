// Names and passwords for private package indexes, out of the workspace's secrets: the secret `pip-index-HOST` holds
// "user:password". They are given to the tool that asks the index and are kept nowhere else.
#pragma once

#include <map>

#include "envs/lock.h"
#include "envs/settings.h"
#include "envs/spec.h"
#include "server/core.h"

namespace lathe::server {

using IndexCredentials = decltype(envs::Settings::credentials);

using KnownCredentials = std::map<std::string, envs::Credential>;  // by the name of the secret

// For the indexes of the site and these more.
rt::Task<KnownCredentials> known_credentials(Core& core, std::string workspace, std::vector<std::string> urls);
rt::Task<IndexCredentials> index_credentials(Core& core, std::string workspace, std::vector<std::string> urls);
// Those that a definition or a lock names.
std::vector<std::string> index_urls(const envs::Spec& spec);
std::vector<std::string> index_urls(const envs::Lock& lock);

}  // namespace lathe::server

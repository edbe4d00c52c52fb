// Names and passwords for private package indexes, out of the workspace's secrets: the secret `pip-index-HOST` holds
// "user:password". They are given to the tool that asks the index and are kept nowhere else.
#pragma once

#include "envs/lock.h"
#include "envs/settings.h"
#include "envs/spec.h"
#include "server/core.h"

namespace lathe::server {

using IndexCredentials = decltype(envs::Settings::credentials);

// For the indexes of the site and these more.
rt::Task<IndexCredentials> index_credentials(Core& core, std::string workspace, std::vector<std::string> urls);
// Those that a definition or a lock names.
std::vector<std::string> index_urls(const envs::Spec& spec);
std::vector<std::string> index_urls(const envs::Lock& lock);

// "https://pypi.example.org:8080/simple" → "pip-index-pypi.example.org"; empty for a URL without a host.
std::string credential_name(std::string_view url);

}  // namespace lathe::server

// Which indexes uv asks and with which credentials, as environment variables of its process: they are in no argument
// list, no lock and no log.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "envs/settings.h"
#include "envs/spec.h"

namespace lathe::envs {

// Sets the variables; returns the secrets among them, so that they can be kept out of logs.
std::vector<std::string> set_indexes(std::vector<std::string>& environment, const Settings& settings,
                                     const PipOptions& options);

// "https://user:pass@host/x" → the URL without the credential, and the credential.
struct PlainUrl {
  std::string url;
  std::optional<Credential> credential;
};
PlainUrl split_credential(std::string_view url);

// The secret of a workspace that holds user and password of an index:
// "https://pypi.example.org:8080/simple" → "pip-index-pypi.example.org"; empty for a URL without a host.
std::string credential_name(std::string_view url);
// By such names, as Settings want them.
std::function<std::optional<Credential>(std::string_view url)> credentials_by_name(
    std::map<std::string, Credential> known);

// `line` with every secret replaced by "***".
std::string without_secrets(std::string_view line, const std::vector<std::string>& secrets);

}  // namespace lathe::envs

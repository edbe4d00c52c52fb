// Which indexes uv asks and with which credentials, as environment variables of its process: they are in no argument
// list, no lock and no log.
#pragma once

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

// `line` with every secret replaced by "***".
std::string without_secrets(std::string_view line, const std::vector<std::string>& secrets);

}  // namespace lathe::envs

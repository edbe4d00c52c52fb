#include "envs/index_environment.h"

#include <filesystem>

#include "base/strings.h"
#include "model/names.h"
#include "sys/command.h"

namespace lathe::envs {
namespace {

std::string value_of(const std::vector<std::string>& environment, std::string_view name) {
  for (const auto& one : environment)
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return one.substr(name.size() + 1);
  return {};
}

// What pip would have used on this machine, unless uv's own variable says otherwise.
void take_over(std::vector<std::string>& environment, std::string_view pip, std::string_view uv) {
  if (std::string value = value_of(environment, pip); !value.empty() && value_of(environment, uv).empty())
    sys::set_variable(environment, uv, value);
}

// pip is silent about a folder of links that is not there; uv is not.
void take_over_links(std::vector<std::string>& environment) {
  std::string links = value_of(environment, "PIP_FIND_LINKS"), kept;
  for (auto link : base::split(links, ' ')) {
    std::error_code ignored;
    if (link.empty() || (link.starts_with('/') && !std::filesystem::exists(link, ignored))) continue;
    kept += (kept.empty() ? "" : ",") + std::string(link);
  }
  if (!kept.empty() && value_of(environment, "UV_FIND_LINKS").empty())
    sys::set_variable(environment, "UV_FIND_LINKS", kept);
}

class Indexes {
 public:
  Indexes(std::vector<std::string>& environment, const Settings& settings)
      : environment_(environment), settings_(settings) {}

  // "NAME=URL" with the credential in variables of that name.
  std::string name(std::string_view given) {
    PlainUrl plain = split_credential(given);
    if (!plain.credential && settings_.credentials) plain.credential = settings_.credentials(plain.url);
    std::string name = fmt::format("lathe{}", count_++);
    if (plain.credential) {
      sys::set_variable(environment_, "UV_INDEX_" + upper(name) + "_USERNAME", plain.credential->user);
      sys::set_variable(environment_, "UV_INDEX_" + upper(name) + "_PASSWORD", plain.credential->password);
      secrets_.push_back(plain.credential->password);
    }
    return name + "=" + plain.url;
  }
  std::vector<std::string> secrets() { return std::move(secrets_); }

 private:
  static std::string upper(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
  }
  std::vector<std::string>& environment_;
  const Settings& settings_;
  std::vector<std::string> secrets_;
  int count_ = 0;
};

}  // namespace

PlainUrl split_credential(std::string_view url) {
  auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return {std::string(url), std::nullopt};
  auto rest = url.substr(scheme + 3);
  auto at = rest.substr(0, rest.find_first_of("/?#")).rfind('@');
  if (at == std::string_view::npos) return {std::string(url), std::nullopt};
  auto user = rest.substr(0, at);
  auto colon = user.find(':');
  Credential credential{std::string(user.substr(0, colon)),
                        colon == std::string_view::npos ? "" : std::string(user.substr(colon + 1))};
  return {std::string(url.substr(0, scheme + 3)) + std::string(rest.substr(at + 1)), std::move(credential)};
}

std::vector<std::string> set_indexes(std::vector<std::string>& environment, const Settings& settings,
                                     const PipOptions& options) {
  take_over(environment, "PIP_INDEX_URL", "UV_DEFAULT_INDEX");
  take_over(environment, "PIP_EXTRA_INDEX_URL", "UV_INDEX");
  take_over(environment, "PIP_CERT", "SSL_CERT_FILE");
  take_over_links(environment);
  Indexes indexes(environment, settings);
  const std::string& first = options.index.empty() ? settings.index : options.index;
  if (!first.empty()) sys::set_variable(environment, "UV_DEFAULT_INDEX", indexes.name(first));
  std::string extra = settings.extra_indexes.empty() ? value_of(environment, "UV_INDEX") : "";
  for (const auto* list : {&settings.extra_indexes, &options.extra_indexes})
    for (const auto& url : *list) extra += (extra.empty() ? "" : " ") + indexes.name(url);
  if (!extra.empty()) sys::set_variable(environment, "UV_INDEX", extra);
  return indexes.secrets();
}

std::string credential_name(std::string_view url) {
  auto from = url.find("://");
  if (from == std::string_view::npos) return {};
  auto host = url.substr(from + 3);
  host = host.substr(0, host.find_first_of("/:?#"));
  auto name = "pip-index-" + base::to_lower(host);
  return host.empty() || !model::check_secret_name(name) ? std::string() : name;
}

std::function<std::optional<Credential>(std::string_view url)> credentials_by_name(
    std::map<std::string, Credential> known) {
  return [known = std::move(known)](std::string_view url) -> std::optional<Credential> {
    auto found = known.find(credential_name(url));
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string without_secrets(std::string_view line, const std::vector<std::string>& secrets) {
  std::string out(line);
  for (const auto& secret : secrets) {
    if (secret.empty()) continue;
    for (std::size_t at; (at = out.find(secret)) != std::string::npos;) out.replace(at, secret.size(), "***");
  }
  return out;
}

}  // namespace lathe::envs

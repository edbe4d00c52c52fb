#include "server/outbound_rules.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/strings.h"
#include "envs/source_check.h"
#include "net/address.h"
#include "net/web_url.h"

namespace lathe::server {

using base::Code;
using base::Error;
namespace fs = std::filesystem;

namespace {

constexpr std::uint16_t kHttps = 443;

// Variables that name indexes, with the spaces and names that they may have between and before them.
constexpr std::array kIndexVariables{"PIP_INDEX_URL",   "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",
                                     "UV_INDEX_URL",    "UV_DEFAULT_INDEX",    "UV_EXTRA_INDEX_URL",
                                     "UV_INDEX",        "UV_FIND_LINKS",       "UV_PYTHON_INSTALL_MIRROR"};

// An address, in any way that a resolver reads one ("127.1", "0x7f000001").
std::optional<net::Address> literal_address(const std::string& host) {
  in_addr four{};
  char text[INET_ADDRSTRLEN];
  if (::inet_aton(host.c_str(), &four) != 0 && ::inet_ntop(AF_INET, &four, text, sizeof text) != nullptr)
    return base::value_or_throw(net::resolve(text, kHttps)).front();
  in6_addr six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return base::value_or_throw(net::resolve(host, kHttps)).front();
  if (host == "localhost" || host.ends_with(".localhost"))
    return base::value_or_throw(net::resolve("127.0.0.1", kHttps)).front();
  return std::nullopt;
}

// Without "user:password@" of the address.
std::string without_user(std::string_view url) {
  const auto from = url.find("://") + 3;
  const auto end = url.find_first_of("/?#", from);
  const auto at = url.substr(0, end).rfind('@');
  if (at == url.npos || at < from) return std::string(url);
  return std::string(url.substr(0, from)) + std::string(url.substr(at + 1));
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const bool is_code = text[i] == '%' && i + 2 < text.size() &&
                         std::sscanf(std::string(text.substr(i + 1, 2)).c_str(), "%2x", &value) == 1;
    out += is_code ? static_cast<char>(value) : text[i];
    if (is_code) i += 2;
  }
  return out;
}

bool is_below(const fs::path& path, const fs::path& root) {
  const auto relative = path.lexically_relative(root);
  return !relative.empty() && *relative.begin() != "..";
}

}  // namespace

OutboundRules::OutboundRules(const SiteConfig& site) : roots_(site.datastore_roots) {
  proxy_.allowed_private = site.private_addresses;
  proxy_.upstream = net::ProxySettings::from_environment();
  const auto& rules = site.environments;
  if (!rules.wheelhouse.empty()) roots_.push_back(rules.wheelhouse);
  add_site_url(rules.index);
  for (const auto* list : {&rules.extra_indexes, &rules.channels})
    for (const auto& url : *list) add_site_url(url);
  for (const auto& registry : rules.registries) add_site_url("https://" + registry);
  for (const char* name : kIndexVariables)
    if (const char* value = std::getenv(name))
      for (auto part : base::split(value, ' ')) add_site_url(part);
}

void OutboundRules::add_site_url(std::string_view url) {
  // "name=https://…"
  if (auto at = url.find("="); at != url.npos && at < url.find("://")) url.remove_prefix(at + 1);
  if (!url.contains("://")) {
    if (url.starts_with('/')) roots_.emplace_back(url);
    return;
  }
  if (url.starts_with("file://")) roots_.emplace_back(percent_decoded(url.substr(7)));
  if (auto parts = net::parse_web_url(without_user(url)))
    proxy_.site_hosts.insert(fmt::format("{}:{}", parts->host, parts->port));
}

base::Result<void> OutboundRules::check_url(std::string_view url) const {
  if (url.starts_with("git+")) url.remove_prefix(4);
  const std::string lower = base::to_lower(url);
  if (lower.starts_with("file:")) return check_file(url);
  if (!lower.starts_with("http://") && !lower.starts_with("https://"))
    return base::fail(Error(Code::invalid, fmt::format("'{}' is neither http nor https, which a build can reach",
                                                       base::printable(url, 200)))
                          .hint("use https, e.g. git+https://HOST/REPOSITORY@COMMIT instead of git+ssh, or put a wheel "
                                "into the source folder"));
  auto parts = net::parse_web_url(without_user(url));
  if (!parts) return std::unexpected(std::move(parts).error());
  return check_host(parts->host, parts->port);
}

base::Result<void> OutboundRules::check_host(const std::string& host, std::uint16_t port) const {
  if (proxy_.site_hosts.contains(fmt::format("{}:{}", host, port))) return {};
  const auto address = literal_address(host);
  if (!address) return {};  // a name: looked at when it is resolved
  return net::check_address(host, *address->raw(), proxy_.allowed_private);
}

base::Result<void> OutboundRules::check_file(std::string_view url) const {
  std::string path = percent_decoded(url.substr(5));
  path = path.substr(0, path.find_first_of("#?@"));
  if (path.starts_with("//")) path.erase(0, 2);
  if (path.starts_with("localhost/")) path.erase(0, 9);
  std::error_code problem;
  const fs::path real = fs::weakly_canonical(path, problem);
  for (const auto& root : roots_)
    if (!problem && path.starts_with('/') && is_below(real, fs::weakly_canonical(root, problem))) return {};
  return base::fail(
      Error(Code::forbidden, fmt::format("'{}' is a file of the server's machine", base::printable(url, 200)))
          .hint("put it into the source folder of the run and name it relative to that; an operator can open a folder "
                "in config.yaml: environments: {wheelhouse: FOLDER} or datastores: {roots: [FOLDER]}"));
}

// As container engines read it: the first part is a registry when it has a dot or a port, or is localhost.
base::Result<void> OutboundRules::check_image(std::string_view reference) const {
  const auto slash = reference.find('/');
  const std::string first = base::to_lower(reference.substr(0, slash));
  if (slash == reference.npos || first == "localhost" || first.find_first_of(".:") == first.npos) return {};
  auto parts = net::parse_web_url("https://" + first);
  if (!parts)
    return base::fail(
        Error(Code::invalid, fmt::format("'{}' names no registry", base::printable(reference, 200)))
            .hint("write HOST[:PORT]/NAME:TAG"));
  return check_host(parts->host, parts->port);
}

// What an engine itself fetches for it. Its steps are programs: where they go is not written in the text.
base::Result<void> OutboundRules::check_dockerfile(std::string_view text) const {
  for (auto line : base::split(text, '\n')) {
    std::vector<std::string> words;
    for (auto word : base::split(base::trim(line), ' '))
      if (!word.empty() && !word.starts_with("--")) words.emplace_back(base::trim(word));
    if (words.size() < 2) continue;
    const std::string what = base::to_lower(words[0]);
    if (what == "from") LATHE_TRY_VOID(check_image(words[1]));
    if (what != "add") continue;
    for (const auto& word : words)
      if (word.contains("://")) LATHE_TRY_VOID(check_url(word));
  }
  return {};
}

base::Result<void> OutboundRules::check(const envs::Spec& spec) const {
  LATHE_TRY_VOID(envs::check_sources(spec, [this](std::string_view url) { return check_url(url); }));
  if (!spec.image.wanted()) return {};
  const bool has_text = !spec.image.dockerfile.empty();
  auto image = has_text ? check_dockerfile(spec.image.dockerfile) : check_image(spec.image.reference);
  if (!image)
    return base::fail(std::move(image).error().field(has_text ? "docker.baseDockerfile" : "docker.baseImage"));
  return {};
}

}  // namespace lathe::server

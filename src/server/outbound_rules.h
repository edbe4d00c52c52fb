// OutboundRules: where definitions of environments may send this server: the same addresses that datasets may reach,
// and what the site itself names: its indexes, channels and registries. Immutable; any thread; nothing is resolved
// here. Names are looked at when a tool connects: through net::ForwardProxy, which gets the same rules.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "envs/spec.h"
#include "net/forward_proxy.h"
#include "server/site_config.h"

namespace lathe::server {

class OutboundRules {
 public:
  // Also what PIP_* and UV_* of this process name is the site's.
  explicit OutboundRules(const SiteConfig& site);

  // http and https, also for git; file only below the site's roots. `forbidden` or `invalid`, with a hint.
  base::Result<void> check_url(std::string_view url) const;
  // "registry.example.org:5000/a/b:tag"; names of no registry are those of a public one.
  base::Result<void> check_image(std::string_view reference) const;
  // All of a definition, with the field.
  base::Result<void> check(const envs::Spec& spec) const;

  const net::ProxyRules& for_proxy() const { return proxy_; }

 private:
  base::Result<void> check_dockerfile(std::string_view text) const;
  base::Result<void> check_host(const std::string& host, std::uint16_t port) const;
  base::Result<void> check_file(std::string_view url) const;
  void add_site_url(std::string_view url);

  net::ProxyRules proxy_;
  std::vector<std::filesystem::path> roots_;
};

}  // namespace lathe::server

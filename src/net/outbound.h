// Where the server may go by itself: the proxy that the environment names, and which addresses are only reached when
// the site says so. Pure functions.
#pragma once

#include <sys/socket.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/web_url.h"

namespace lathe::net {

// As curl reads them: http_proxy in lower case only (a CGI server's clients can set HTTP_PROXY), the others in either.
struct ProxySettings {
  std::string http, https, none;
  static ProxySettings from_environment();
};

// The proxy for this URL; empty: go there directly.
std::string proxy_for(const ProxySettings& settings, const WebUrl& url);

// "10.0.0.0/8", "::1"
class AddressRange {
 public:
  static base::Result<AddressRange> parse(std::string_view text);
  bool contains(const sockaddr& address) const;

 private:
  std::string bytes_;  // 4 or 16
  int bits_ = 0;
};

// Loopback, private, link-local, metadata, multicast and other addresses that are no public host; also those in which
// another address is wrapped that a router on the way would unwrap (6to4, Teredo, NAT64 of a site).
bool is_private_address(const sockaddr& address);
// `forbidden`, with a hint, for one that is private and in none of the ranges; `host` is how it was asked for.
base::Result<void> check_address(std::string_view host, const sockaddr& address,
                                 const std::vector<AddressRange>& allowed_private);

}  // namespace lathe::net

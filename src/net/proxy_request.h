// The head of a request to a forward proxy: where it wants to go, and what is sent on. Text in, text out.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "net/web_url.h"

namespace lathe::net {

inline constexpr std::size_t kProxyHeadLimit = 32u << 10;

struct ProxyRequest {
  bool is_tunnel = false;  // CONNECT
  WebUrl target;           // of a tunnel: "https", host and port
  std::string authorization;
  // The head as the target gets it, the connection ended by its answer; empty for a tunnel.
  std::string to_target;
  // The same as another proxy gets it, with this line added when it is not empty.
  std::string to_proxy(std::string_view authorization_line) const;

  std::string method, headers;  // without those that are for us alone
};

// `head` ends with the empty line. `invalid` for what is no request to a proxy.
base::Result<ProxyRequest> parse_proxy_request(std::string_view head);

}  // namespace lathe::net

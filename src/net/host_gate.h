// The Host/Origin gate. A browser can be made to send requests to a loopback port (DNS rebinding, cross-site forms);
// what it then writes into Host, Origin and Sec-Fetch-Site gives it away. There are no CORS headers anywhere: a foreign
// origin may not even read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/headers.h"

namespace lathe::net {

struct HostGate {
  bool any_host = false;  // the Unix socket: no browser gets there
  bool tls = false;
  std::uint16_t port = 0;
  std::string host;                        // as configured
  std::vector<std::string> allowed_hosts;  // "name" (any port: a proxy's) or "name:port"

  // `local_address`: the address of our end of the connection. Throws StatusError: 400 without Host, 403 for a foreign
  // one.
  void check(std::string_view method, const Headers& headers, std::string_view local_address) const;

 private:
  bool is_ours(std::string_view authority, std::string_view local_address) const;
};

}  // namespace lathe::net

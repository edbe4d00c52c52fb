// ForwardProxy: the way out for tools that fetch what a definition names (uv, pip, git, rattler, a container engine).
// It listens on a loopback port, asks for a secret of its own, and goes only where the server itself may go: every
// address of a name is checked (net/outbound.h), and the one that was checked is connected to, so that a name cannot
// mean something else a moment later. What the site itself names (its indexes) is not checked.
//
// CONNECT, and plain http by absolute form. A proxy of the environment is gone through; the names of what lies behind
// it are checked as far as this machine can resolve them.
//
// Threads of its own: one that accepts, "proxy", and one for each connection, "proxy-work", at most
// `limits.connections`; more are told 503. All end with the destructor, which waits for them: at most as long as
// the resolver takes. What is refused is told to the tool (403) and to `refused`, by any of those threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/outbound.h"

namespace lathe::net {

struct ProxyRules {
  std::vector<AddressRange> allowed_private;
  std::set<std::string> site_hosts;  // "host:port", lower case
  ProxySettings upstream;
};

struct ProxyLimits {
  int connections = 64;
  std::uint64_t bytes = 1ull << 40;  // both ways, all connections together
  std::chrono::seconds head{30}, connect{20}, idle{300};
};

class ForwardProxy {
 public:
  using Refused = std::function<void(std::string_view line)>;
  static base::Result<std::unique_ptr<ForwardProxy>> start(ProxyRules rules, Refused refused, ProxyLimits limits = {});
  virtual ~ForwardProxy() = default;
  // "http://lathe:SECRET@127.0.0.1:PORT"
  virtual std::string url() const = 0;
};

}  // namespace lathe::net

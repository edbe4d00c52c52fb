// Router: routes as values. A route that names no permission does not compile; an unknown path is 404, a known path
// with another method 405 with Allow. Matching is on path segments; where two fit, a word beats a parameter. A
// parameter is never empty; it contains '/' only when the client wrote %2F, so a handler treats it as data and never as
// a path.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "net/http.h"

namespace lathe::net {

enum class Permission {
  open,              // no credential: health, and nothing that tells a secret
  read,              // viewer and above, and the scripts of runs
  read_or_runner,    // as read, and runners: what they deliver to their node
  write,             // contributor and above
  write_or_own_run,  // as write, and the scripts of runs for what is their own: the handler sees to that
  upload,            // as write, and scripts and runners: bytes, which mean nothing until something names them
  operate,           // operator and above: compute, GC
  administer,        // admin
  own_attempt,       // the runner of the attempt that the path names ({run}, {attempt}); nobody else
};

// The word that api/openapi.yaml uses for it (x-permission).
std::string_view permission_name(Permission permission);

using Handler = std::function<rt::Task<Response>(Request&)>;

struct Route {
  std::string method;
  std::string path;       // "/api/v1/runs/{run}/cancel"
  std::string operation;  // operationId in api/openapi.yaml
  Permission permission;
  Handler handler;
  std::uint64_t body_limit = 8u << 20;  // bytes
};

class Router {
 public:
  // LATHE_CHECKs that no two routes are the same.
  void add(Route route);
  struct Match {
    const Route* route = nullptr;  // null: not found
    std::map<std::string, std::string> params;
    std::string allow;  // the methods of the path, when it exists
  };
  // HEAD matches GET.
  Match match(std::string_view method, const std::vector<std::string>& decoded_segments) const;
  Match match(std::string_view method, std::string_view decoded_path) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> parts_;  // of each route's path
};

// Whether this principal may use this route with these parameters. A principal that is limited to a workspace may use
// no route of another one, and no operate or administer route outside of it.
bool is_allowed(Permission permission, const Principal& principal, const std::map<std::string, std::string>& params);

}  // namespace lathe::net

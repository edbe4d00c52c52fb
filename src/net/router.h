// Router: routes as values. A route that names no permission does not compile; an unknown path is 404, a known path
// with another method 405 with Allow. Matching is on path segments; a parameter never contains '/'.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "net/http.h"

namespace lathe::net {

enum class Permission {
  open,       // no credential: health, and nothing that tells a secret
  read,       // viewer and above, run tokens
  write,      // contributor and above
  operate,    // operator and above: compute, GC
  administer, // admin
  own_run,    // the run token of the attempt that the path names ({run}, {attempt}); nobody else
  read_or_own_run,   // as read, and run tokens of any attempt
  write_or_own_run,  // as write, and run tokens (uploads of blobs)
};

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
    const Route* route = nullptr;             // null: not found
    std::map<std::string, std::string> params;
    std::string allow;                        // when the path exists with other methods
  };
  // HEAD matches GET.
  Match match(std::string_view method, std::string_view decoded_path) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

// Whether this principal may use this route with these parameters.
bool is_allowed(Permission permission, const Principal& principal, const std::map<std::string, std::string>& params);

}  // namespace lathe::net

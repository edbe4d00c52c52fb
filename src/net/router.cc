#include "net/router.h"

#include "base/check.h"
#include "base/strings.h"

namespace lathe::net {
namespace {

bool is_parameter(std::string_view part) { return part.starts_with('{') && part.ends_with('}'); }

std::vector<std::string> parts_of(std::string_view path) {
  LATHE_CHECK(path.starts_with('/'), "a route's path starts with '/': {}", path);
  std::vector<std::string> parts;
  for (const auto part : base::split(path.substr(1), '/')) parts.emplace_back(part);
  return parts;
}

bool same_shape(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (is_parameter(a[i]) ? !is_parameter(b[i]) : a[i] != b[i]) return false;
  return true;
}

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string>& segments) {
  if (pattern.size() != segments.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (is_parameter(pattern[i]) ? segments[i].empty() : pattern[i] != segments[i]) return false;
  return true;
}

// Of two patterns that fit the same path, the one with the earlier word instead of a parameter wins.
bool more_exact(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (is_parameter(a[i]) != is_parameter(b[i])) return is_parameter(b[i]);
  return false;
}

bool method_fits(const Route& route, std::string_view method) {
  return route.method == method || (method == "HEAD" && route.method == "GET");
}

}  // namespace

void Router::add(Route route) {
  auto parts = parts_of(route.path);
  for (std::size_t i = 0; i < routes_.size(); ++i)
    LATHE_CHECK(routes_[i].method != route.method || !same_shape(parts_[i], parts), "{} {} is routed twice",
                route.method, route.path);
  routes_.push_back(std::move(route));
  parts_.push_back(std::move(parts));
}

Router::Match Router::match(std::string_view method, std::string_view decoded_path) const {
  std::vector<std::string> segments;
  if (decoded_path.starts_with('/'))
    for (const auto part : base::split(decoded_path.substr(1), '/')) segments.emplace_back(part);
  return match(method, segments);
}

Router::Match Router::match(std::string_view method, const std::vector<std::string>& segments) const {
  // The most exact pattern decides, then the method: /runs/missing is not hidden by /runs/{run} with another method.
  const std::vector<std::string>* best = nullptr;
  for (const auto& parts : parts_)
    if (fits(parts, segments) && (!best || more_exact(parts, *best))) best = &parts;
  Match match;
  if (!best) return match;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (!same_shape(parts_[i], *best)) continue;
    if (!match.route && method_fits(routes_[i], method)) {
      match.route = &routes_[i];
      for (std::size_t part = 0; part < segments.size(); ++part)
        if (is_parameter(parts_[i][part]))
          match.params.emplace(parts_[i][part].substr(1, parts_[i][part].size() - 2), segments[part]);
    }
    match.allow += (match.allow.empty() ? "" : ", ") + routes_[i].method;
    if (routes_[i].method == "GET") match.allow += ", HEAD";
  }
  return match;
}

bool is_allowed(Permission permission, const Principal& principal, const std::map<std::string, std::string>& params) {
  const auto parameter = [&](const char* name) {
    const auto found = params.find(name);
    return found == params.end() ? std::string() : found->second;
  };
  const bool is_script = principal.role == Role::run;
  const bool is_runner = principal.role == Role::runner || (is_script && principal.also_runner);
  const auto at_least = [&](Role role) { return !is_script && !is_runner && principal.role >= role; };

  if (!principal.workspace.empty()) {
    const auto workspace = parameter("workspace");
    if (!workspace.empty() && workspace != principal.workspace) return false;
    // What has no workspace in its path concerns the whole server: a limited token may not change that.
    if (workspace.empty() && (permission == Permission::operate || permission == Permission::administer)) return false;
  }
  switch (permission) {
    case Permission::open:
      return true;
    case Permission::read:
      return at_least(Role::viewer) || is_script;
    case Permission::read_or_runner:
      return at_least(Role::viewer) || is_script || is_runner;
    case Permission::write:
      return at_least(Role::contributor);
    case Permission::write_or_own_run:
      return at_least(Role::contributor) || is_script;
    case Permission::upload:
      return at_least(Role::contributor) || is_script || is_runner;
    case Permission::operate:
      return at_least(Role::operator_);
    case Permission::administer:
      return at_least(Role::admin);
    case Permission::own_attempt:
      return is_runner && !principal.run_id.empty() && parameter("run") == principal.run_id &&
             parameter("attempt") == std::to_string(principal.attempt);
  }
  return false;
}

std::string_view permission_name(Permission permission) {
  switch (permission) {
    case Permission::open:
      return "open";
    case Permission::read:
      return "read";
    case Permission::write:
      return "write";
    case Permission::operate:
      return "operate";
    case Permission::administer:
      return "administer";
    case Permission::own_attempt:
      return "own_attempt";
    case Permission::read_or_runner:
      return "read_or_runner";
    case Permission::write_or_own_run:
      return "write_or_own_run";
    case Permission::upload:
      return "upload";
  }
  return "none";
}

}  // namespace lathe::net

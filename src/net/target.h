// The request target, taken apart and percent-decoded exactly once. Throws StatusError for what cannot be decoded.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::net {

struct Target {
  std::vector<std::string> segments;  // decoded; a '/' inside one is data
  std::multimap<std::string, std::string> query;

  // The decoded segments joined: for people and logs, not for matching.
  std::string path() const;
  // A "." or ".." segment, encoded or not: never resolved, never routed.
  bool has_dots() const;
};

// Only the origin form ("/path?query") is served.
Target parse_target(std::string_view raw);

}  // namespace lathe::net

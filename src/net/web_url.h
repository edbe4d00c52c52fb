// WebUrl: the parts of an http or https address that Lathe looks at. Text in, text out; no resolving.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::net {

struct WebUrl {
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;
  bool has_default_port = true;
  std::string path;  // begins with '/'; as it was written
  std::string query;

  // "host" or "host:port"
  std::string authority() const;
  // Without a fragment: what a request may name.
  std::string text() const;
};

// Only http and https, without a user or password in it; anything else is `invalid` (field "url").
base::Result<WebUrl> parse_web_url(std::string_view text);

}  // namespace lathe::net

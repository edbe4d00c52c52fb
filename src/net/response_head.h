// The head of an answer on the wire: status line, the handler's fields, and those every answer carries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "net/http.h"

namespace lathe::net {

struct Framing {
  std::optional<std::uint64_t> length;  // absent: chunked, or until the connection ends
  bool chunked = false;
  bool has_body = true;  // false for 204 and 304: no length field at all
  bool keep_alive = true;
  bool http11 = true;
};

// Throws Error(internal) for a field that would break out of its line.
std::string make_response_head(const Response& response, const Framing& framing, base::UtcTime now);

}  // namespace lathe::net

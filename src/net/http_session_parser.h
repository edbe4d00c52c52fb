// RequestParser: the bytes of one request become a head and a body (Beast's parser inside, one per request).
// Strict: what two parsers could read differently is refused. Everything is bounded. Throws StatusError.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/headers.h"

namespace lathe::net {

struct HttpLimits;

struct RequestHead {
  std::string method, target;
  Headers headers;
  bool http11 = true;
  bool keep_alive = false;
  bool expects_continue = false;
  std::optional<std::uint64_t> content_length;  // absent: chunked, or no body
};

class RequestParser {
 public:
  explicit RequestParser(const HttpLimits& limits);
  ~RequestParser();

  // Feeds bytes, returns how many were used; the rest is to be given again with more behind it.
  std::size_t put_head(std::string_view input);
  bool has_head() const;
  RequestHead& head();

  // Decoded bytes are appended to `out`, at most `room` of them.
  std::size_t put_body(std::string_view input, std::string& out, std::size_t room);
  // The whole request, body included, was parsed.
  bool is_done() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe::net

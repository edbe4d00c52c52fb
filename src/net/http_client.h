// HttpClient: blocking HTTP/1.1 client for the runner and the command line. One connection, kept alive, reopened when
// the server went away: a request on a kept connection that dies before the first byte of its answer is sent once more
// (not one with a BodySource that was read from), so requests must be idempotent. Not thread-safe: one per thread.
// Speaks http://, https:// and unix:///path/of/socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "net/headers.h"

namespace lathe::net {

// Whether bodies are packed with zstd on the way: by itself where the server is on another machine (over a Unix socket
// or loopback it would only cost time); `always` is for loopback addresses that lead elsewhere, such as a tunnel.
enum class Packing { automatic, always, never };

struct ClientConfig {
  std::string url{};      // "unix:///…/api.sock", "http://127.0.0.1:4711", "https://host:port"
  std::string token{};    // sent as Authorization: Bearer; never logged
  std::string ca_file{};  // PEM for https; empty: the system's
  Packing packing = Packing::automatic;
  base::Duration connect_timeout = std::chrono::seconds(10);
  base::Duration io_timeout = std::chrono::seconds(60);  // no progress for this long is an error
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;
  // The error that the API's JSON error shape tells, for status ≥ 400.
  base::Error error() const;
};

// Gives the body piece by piece: returns the number of bytes put into the buffer, 0 at the end.
using BodySource = std::function<base::Result<std::size_t>(char* buffer, std::size_t size)>;
// Takes the body piece by piece; an error ends the transfer.
using BodySink = std::function<base::Result<void>(std::string_view)>;

class HttpClient {
 public:
  explicit HttpClient(ClientConfig config);
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;

  // `target` is the path with its query, already encoded (see encode_segment). Errors of the transport are
  // unavailable or timeout; an answer with status ≥ 400 is a response, not an error.
  base::Result<ClientResponse> request(std::string_view method, std::string_view target, std::string_view body = {},
                                       std::string_view content_type = "application/json", const Headers& extra = {});
  // Request body from a source (length known, or chunked when absent), response collected.
  base::Result<ClientResponse> upload(std::string_view method, std::string_view target,
                                      std::optional<std::uint64_t> length, const BodySource& source,
                                      std::string_view content_type, const Headers& extra = {});
  // Response body into a sink as it arrives (for status < 400; error bodies are collected). `no_stall_limit`: for
  // followers that may be silent for hours.
  base::Result<ClientResponse> download(std::string_view target, const BodySink& sink, const Headers& extra = {},
                                        bool no_stall_limit = false);
  // From another thread: breaks a request that is being waited for; it returns Error(cancelled). Remembered when none
  // is: the next one that waits is broken.
  void interrupt();
  // For the calls from now on: no progress for this long, or no connection, is an error.
  void limit_waiting(base::Duration limit);
  bool is_local() const;  // over a Unix socket
  // What went over the connection so far, heads and packed bodies as they travelled.
  struct Traffic {
    std::uint64_t sent = 0, received = 0;
  };
  Traffic traffic() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Percent-encodes one path segment or query value.
std::string encode_segment(std::string_view text);

}  // namespace lathe::net

// HTTP as values: what a handler sees and gives back. No Asio here; http_server.cc does the wire.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "net/headers.h"
#include "rt/cancel.h"
#include "rt/task.h"

namespace lathe::net {

// The body of a request, read as a stream; `limit` was set by the route.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  // The next bytes (at most ~64 KiB, valid until the next call), empty at the end. Throws too_large past the limit,
  // unavailable when the client went away, timeout when it stalls.
  virtual rt::Task<std::string_view> read() = 0;
  virtual std::optional<std::uint64_t> content_length() const = 0;
  // To be called before so many bytes in all are collected: waits until the server has the memory for them. Throws
  // unavailable when it has none. The memory counts as used until the handler has returned.
  virtual rt::Task<void> hold(std::uint64_t bytes) = 0;
};

// `length` bytes of an open file from `offset`.
struct FileBody {
  int fd = -1;
  std::uint64_t offset = 0, length = 0;
};

// The body of a streamed response (chunked). write() returns when the bytes are with the kernel: back-pressure.
class BodyWriter {
 public:
  virtual ~BodyWriter() = default;
  // Throws unavailable when the client went away.
  virtual rt::Task<void> write(std::string_view bytes) = 0;
  // The same for bytes of a file, which are not copied where the connection is plain; the file stays the caller's.
  virtual rt::Task<void> write_file(FileBody piece) = 0;
};

// `run` is the script of a run and what it has started, `runner` the program of ours that looks after it.
enum class Role { none, run, runner, viewer, contributor, operator_, admin };

// Who is asking, as found by the Authenticator.
struct Principal {
  Role role = Role::none;
  std::string name;  // "admin", a token's name, or "run <id>"
  std::int64_t token_id = 0;
  std::string run_id;        // roles run and runner: the run it may act for
  int attempt = 0;           // roles run and runner: its attempt
  std::string workspace;     // limits the token to one workspace when not empty
  bool also_runner = false;  // role run: an attempt of a release that had one token for both
};

struct Request {
  std::string method;
  std::string path;                               // decoded once, no query
  std::map<std::string, std::string> params;      // {name} parts of the route, decoded
  std::multimap<std::string, std::string> query;  // decoded
  Headers headers;
  std::string remote;                     // "127.0.0.1:4711" or "unix uid=1000 pid=4711"
  bool is_local = false;                  // came over the Unix socket
  std::optional<std::uint32_t> peer_uid;  // the user at the other end of the Unix socket, as the kernel says
  Principal principal;
  BodyReader* body = nullptr;
  rt::CancelToken cancel;  // fires when the client goes away (seen once the body was read)
                           // or the server stops

  std::optional<std::string> header(std::string_view lower_case_name) const;
  std::optional<std::string> query_value(const std::string& name) const;
  // The whole body as text, bounded by the route's limit.
  rt::Task<std::string> text();
};

// Request::remote without what differs between the connections of one client: its port, its process.
std::string_view address_of(std::string_view remote);

// Runs after its handler has returned; the handler's Request lives until it ends.
using StreamBody = std::move_only_function<rt::Task<void>(BodyWriter&)>;
struct Response {
  int status = 200;
  Headers headers;
  std::variant<std::string, FileBody, StreamBody> body;  // the server closes the file
  bool may_be_packed = false;  // with zstd, for a client elsewhere that asks for it

  static Response json(std::string text, int status = 200);
  static Response empty(int status = 204);
  // The one error shape: {"code","message","hint","field"}.
  static Response error(const base::Error& error);
};

}  // namespace lathe::net

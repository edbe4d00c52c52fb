// HttpServer: listens on loopback TCP, a Unix socket, or TLS; parses, limits, authenticates, routes, answers.
// Lives on the home loop. Every request passes the same gate: size limits → Host/Origin → credential (except for open
// routes) → route → permission → handler; who has no credential does not learn which paths exist. A handler's
// base::Error becomes the one JSON error shape; anything else a 500 without detail.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/memory_budget.h"
#include "net/router.h"
#include "rt/loop.h"
#include "rt/scope.h"

namespace lathe::net {

struct TlsFiles {
  std::filesystem::path certificate, key;  // PEM
};

struct ListenConfig {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: a free one
  std::optional<TlsFiles> tls;
  std::filesystem::path unix_socket;       // empty: none
  mode_t unix_socket_mode = 0600;          // more only where its folder keeps others out
  std::vector<std::string> allowed_hosts;  // further Host names beside loopback and `host`
};

// How many connections a listener may hold: 4096, or fewer where this process may not open as many files. Who comes
// when all places are taken gets that of the oldest idle client without a credential, else that of an idle one, or of a
// stream, of the caller who has the most.
int connection_limit();

struct HttpLimits {
  std::uint32_t header_bytes = 64 * 1024;
  std::uint32_t target_bytes = 8 * 1024;
  std::uint32_t header_count = 64;
  int connections = connection_limit();  // of each listener
  base::Duration header_timeout = std::chrono::seconds(30);
  // A client that is waited for must move so many bytes per second, on average over the window, or is cut off.
  std::uint64_t floor_bytes_per_second = 1024;
  base::Duration body_stall_timeout = std::chrono::seconds(60);  // the window
  base::Duration keep_alive_timeout = std::chrono::seconds(120);
  MemoryBudget::Limits memory;     // of bodies that are collected, and of answers that are not taken
  double requests_per_second = 0;  // of each token, but no administrator's; 0: no limit
  double burst = 0;                // so many at once
};

// Finds who asks. Throws unauthorized for a wrong or expired credential; gives Role::none when there is none.
using Authenticator = std::function<rt::Task<Principal>(const Request&)>;

// Told of each finished request, for /metrics and the log.
struct RequestOutcome {
  std::string operation;  // empty: no route
  std::string method;
  int status;
  base::Duration took;
};

// A call that was answered 401 or 403, before its answer is sent: who asks may not stay to hear it.
struct Refusal {
  std::string operation;  // empty: no route
  int status;
  std::string name;  // of the caller; empty: nobody knows
  std::int64_t token_id;
  std::string remote;
};

class HttpServer {
 public:
  HttpServer(rt::Loop& loop, const Router& router, Authenticator authenticate,
             std::function<void(const RequestOutcome&)> on_finished, HttpLimits limits = {});
  ~HttpServer();
  void on_refused(std::function<void(const Refusal&)> listener);
  // Refuses a non-loopback host without TLS (Error invalid, with a hint). Binds; serving starts at once.
  base::Result<void> listen(const ListenConfig& config);
  std::uint16_t port() const;
  // For a credential that counts no more: what these callers stream or send is cut off, what a handler works on is
  // cancelled and may still answer. Their next request has to pass the gate anew.
  void end_requests_of(const std::function<bool(const Principal&)>& is_meant);
  // No new connections; requests in work finish within `drain`, then are cancelled.
  rt::Task<void> stop(base::Duration drain);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe::net

// HttpSession: one client connection from accept to close: request after request through the gate, the router and a
// handler. Lives in one coroutine of the server's scope, on the home thread.
#pragma once

#include <optional>
#include <string>

#include "net/connection.h"
#include "net/host_gate.h"
#include "net/http_server.h"
#include "net/http_session_parser.h"
#include "net/input_buffer.h"
#include "net/memory_budget.h"
#include "net/packed_writer.h"
#include "net/rate_limiter.h"
#include "net/response_head.h"
#include "net/status_error.h"
#include "net/target.h"
#include "rt/scope.h"

namespace lathe::net {

// What all sessions of one server share.
struct ServerContext {
  rt::Loop& loop;
  const Router& router;
  Authenticator authenticate;
  std::function<void(const RequestOutcome&)> on_finished;
  HttpLimits limits;
  MemoryBudget memory;
  RateLimiter rate;
  PackingSlots packing = {};
  bool stopping = false;
  std::function<void(const Refusal&)> on_refused = {};
};

// Who is at the other end, known from accept().
struct Peer {
  std::string remote;
  std::string local_address;
  bool is_local = false;
  std::optional<std::uint32_t> uid;  // of a Unix socket's other end
};

class HttpSession {
 public:
  HttpSession(ServerContext& context, const HostGate& gate, Peer peer, int fd, ssl_ctx_st* tls);
  rt::Task<void> run();

  // The server stops: an idle session ends now, a busy one after its answer.
  void finish_soon();
  // Cancels the request in work and cuts the connection off.
  void cut_off();
  // Cuts off what is being sent or received; a handler that has its whole request is cancelled and may answer.
  void end_request();
  // Called once, when the client has shown a good credential.
  void on_known(std::function<void()> callback) { on_known_ = std::move(callback); }
  bool is_known() const { return known_; }
  // What the limits of this client are counted by; empty before its first request.
  const std::string& caller() const { return caller_; }
  bool is_busy() const { return in_request_; }
  bool is_streaming() const { return streaming_; }
  // It was cut off, and is on its way out.
  bool is_leaving() const { return leaving_; }
  // Who asks, while a request is in work.
  const Principal* principal() const { return in_request_ ? &asking_ : nullptr; }

 private:
  class Body;
  friend class Body;

  rt::Task<void> serve();
  rt::Task<bool> serve_one();
  rt::Task<bool> read_head();
  rt::Task<Response> answer(Request& request, const Route*& route);
  rt::Task<Response> dispatch(Request& request, const Route*& route);
  rt::Task<Response> handle(Request& request, const Route& route);
  void check_rate(const Route& route);
  std::optional<MemoryBudget::Hold> hold_answer(Response& response);
  rt::Task<void> send(const Request& request, Response& response);
  rt::Task<void> send_stream(StreamBody& stream, std::string_view head, bool chunked);
  Framing framing_of(const Response& response);
  bool discard_received_body();

  rt::Task<void> fill(bool want_large);
  rt::Task<void> receive(bool want_large);
  rt::Task<void> watch();
  void start_watch();

  ServerContext& context_;
  const HostGate& gate_;
  Peer peer_;
  Connection connection_;
  InputBuffer input_;
  std::optional<RequestParser> parser_;
  rt::Scope reader_;  // at most one coroutine: watch()
  rt::CancelSource cancel_;
  Principal asking_;         // of the request in work, once it is known
  std::string caller_;
  std::function<void()> on_known_;
  bool known_ = false;
  bool leaving_ = false;
  bool ended_ = false;       // the client sends no more
  bool idle_ = true;         // no byte of a request has come
  bool in_request_ = false;  // a handler or its answer is in work
  bool answering_ = false;   // the answer is being sent
  bool streaming_ = false;   // a body of unknown length is being sent
  bool keep_alive_ = true;
};

}  // namespace lathe::net

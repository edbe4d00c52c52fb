#include "net/http_session.h"

#include <array>

#include "base/log.h"
#include "base/strings.h"
#include "net/chunk_writer.h"
#include "net/packed_writer.h"
#include "net/zstd_body.h"
#include "rt/clock.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

constexpr std::size_t kBodyPiece = 64 * 1024;

Response to_response(const StatusError& refusal) {
  Response response = Response::error(refusal.error);
  response.status = refusal.status;
  for (const auto& [name, value] : refusal.headers) response.headers.insert_or_assign(name, value);
  return response;
}

// What limits are counted by: a token, an attempt of a run, or an address for those without a credential.
std::string caller_name(const Principal& who, const Peer& peer) {
  if (who.role == Role::run) return fmt::format("run {}/{}", who.run_id, who.attempt);
  if (who.role != Role::none) return fmt::format("token {} {}", who.token_id, who.name);
  return "address " + std::string(address_of(peer.remote));
}

bool is_known_method(std::string_view method) {
  static constexpr std::array kMethods{"GET",    "HEAD",    "POST",  "PUT",     "PATCH",
                                       "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"};
  return std::ranges::find(kMethods, method) != kMethods.end();
}

}  // namespace

// The request body as the handler sees it: decoded from the connection on demand, so that a slow handler slows the
// client.
class HttpSession::Body final : public BodyReader {
 public:
  Body(HttpSession& session, std::uint64_t limit)
      : session_(session),
        length_(session.parser_->head().content_length),
        limit_(limit),
        left_(limit),
        pace_(session.context_.limits.floor_bytes_per_second, session.context_.limits.body_stall_timeout) {
    if (!length_ && session.parser_->is_done()) length_ = 0;
  }

  std::optional<std::uint64_t> content_length() const override { return length_; }

  rt::Task<std::string_view> read() override {
    auto& parser = *session_.parser_;
    piece_.clear();
    if (!parser.is_done()) co_await say_continue();
    while (piece_.empty() && !parser.is_done()) {
      std::size_t used = 0;
      if (!session_.input_.empty()) {
        used = parse();
        session_.input_.consume(used);
      }
      if (piece_.empty() && !parser.is_done() && used == 0) co_await wait_for_more();
    }
    if (piece_.size() > left_) throw Error(Code::too_large, "the body is larger than this route allows");
    left_ -= piece_.size();
    if (parser.is_done()) session_.start_watch();
    co_return piece_;
  }

  rt::Task<void> hold(std::uint64_t bytes) override {
    auto& memory = session_.context_.memory;
    bytes = std::min(bytes, limit_);
    if (memory_.bytes() == 0)
      memory_ = co_await memory.take(session_.caller_, bytes, session_.cancel_.token());
    else if (!memory.try_grow(memory_, bytes))
      throw Error(Code::unavailable, "the server holds as many bytes of requests as it may")
          .hint("try again in a moment, or send the length of the body");
  }

 private:
  std::size_t parse() {
    try {
      return session_.parser_->put_body(session_.input_.view(), piece_, kBodyPiece);
    } catch (const StatusError& refusal) {
      throw refusal.error;  // handlers know Error only
    }
  }

  rt::Task<void> say_continue() {
    if (!std::exchange(session_.parser_->head().expects_continue, false)) co_return;
    co_await session_.connection_.write({"HTTP/1.1 100 Continue\r\n\r\n"});
  }

  rt::Task<void> wait_for_more() {
    if (session_.input_.is_full()) throw Error(Code::invalid, "a chunk header or trailer is too long");
    const auto& clock = rt::system_clock();
    auto& socket = session_.connection_.socket();
    const auto before = session_.input_.view().size();
    socket.set_deadline(pace_.begin_wait(clock.steady(), received_), [this, &clock] {
      return pace_.kept_up(clock.steady(), received_) ? std::optional(pace_.window()) : std::nullopt;
    });
    co_await session_.fill(true);
    pace_.end_wait(clock.steady());
    socket.clear_deadline();
    received_ += session_.input_.view().size() - before;
    if (session_.ended_) throw Error(Code::unavailable, "the client went away in the middle of the body");
  }

  HttpSession& session_;
  std::optional<std::uint64_t> length_;
  std::uint64_t limit_, left_;
  std::uint64_t received_ = 0;  // bytes that had to be waited for
  Pace pace_;
  MemoryBudget::Hold memory_;
  std::string piece_;
};

HttpSession::HttpSession(ServerContext& context, const HostGate& gate, Peer peer, int fd, ssl_ctx_st* tls)
    : context_(context),
      gate_(gate),
      peer_(std::move(peer)),
      connection_(context.loop, fd, tls,
                  Pace(context.limits.floor_bytes_per_second, context.limits.body_stall_timeout)),
      input_(context.limits.header_bytes) {}

rt::Task<void> HttpSession::run() {
  try {
    co_await serve();
  } catch (const Error&) {
    // The client went away, or stood still: there is nobody to tell.
  } catch (const std::exception& error) {
    base::log::error("session-failed", {{"remote", peer_.remote}, {"error", error.what()}});
  }
  connection_.say_goodbye();
  connection_.socket().close();
  co_await reader_.join();
}

rt::Task<void> HttpSession::serve() {
  connection_.socket().set_deadline(context_.limits.header_timeout);
  co_await connection_.handshake();
  while (co_await serve_one()) {
  }
  if (parser_ && !parser_->is_done()) co_await connection_.linger();
}

void HttpSession::finish_soon() {
  if (idle_) connection_.socket().close();
  // A stream (a followed log, a watch, events) would use up the whole drain: its client comes back to the next server.
  if (streaming_) cancel_.cancel();
}

void HttpSession::cut_off() {
  leaving_ = true;
  cancel_.cancel();
  connection_.socket().close();
}

void HttpSession::end_request() {
  if (answering_ || !parser_->is_done()) return cut_off();
  keep_alive_ = false;
  cancel_.cancel();
}

// ---- input ----

rt::Task<void> HttpSession::receive(bool want_large) {
  for (;;) {
    // The space is asked for after each wait: meanwhile the session may have moved the buffer.
    const auto space = input_.space(want_large);
    const Io io = connection_.try_read(space.data(), space.size());
    if (io.kind == Io::Kind::done) {
      input_.received(io.count);
      co_await connection_.be_fair(io.count);
      co_return;
    }
    if (io.kind == Io::Kind::end) {
      ended_ = true;
      co_return;
    }
    co_await connection_.wait(io.kind);
  }
}

// While a handler works, somebody must notice that its client has gone. What else arrives is the next request.
rt::Task<void> HttpSession::watch() {
  try {
    do co_await receive(false);
    while (in_request_ && !ended_ && !input_.is_full());
  } catch (const Error&) {
    ended_ = true;
  }
  if (ended_ && in_request_) cancel_.cancel();
}

void HttpSession::start_watch() {
  if (reader_.live() == 0 && !ended_ && !input_.is_full()) reader_.spawn("http-watch", watch());
}

rt::Task<void> HttpSession::fill(bool want_large) {
  // One read at a time: a watch that still waits is reading for us.
  if (reader_.live() > 0)
    co_await reader_.join();
  else
    co_await receive(want_large);
  if (connection_.socket().timed_out()) throw Error(Code::timeout, "the client stood still for too long");
}

rt::Task<bool> HttpSession::read_head() {
  bool begun = false;
  while (!parser_->has_head()) {
    if (!input_.empty()) {
      input_.consume(parser_->put_head(input_.view()));
      if (parser_->has_head()) break;
      if (!std::exchange(begun, true)) connection_.socket().set_deadline(context_.limits.header_timeout);
    } else if (ended_) {
      co_return false;
    }
    idle_ = !begun && input_.empty();
    if (idle_ && context_.stopping) co_return false;
    input_.release_if_empty();
    const auto before = input_.view().size();
    co_await fill(false);
    idle_ = false;
    if (ended_ && input_.view().size() == before) co_return false;
  }
  connection_.socket().clear_deadline();
  co_return true;
}

// ---- one request ----

rt::Task<bool> HttpSession::serve_one() {
  parser_.emplace(context_.limits);
  keep_alive_ = true;
  Request request;
  const Route* route = nullptr;
  std::optional<Response> response;
  try {
    if (!co_await read_head()) {
      parser_.reset();
      co_return false;
    }
  } catch (const StatusError& refusal) {
    keep_alive_ = false;
    response = to_response(refusal);
  }
  const auto started = rt::system_clock().steady();
  in_request_ = true;
  asking_ = {};
  cancel_ = {};
  request.cancel = cancel_.token();
  if (!response) response = co_await answer(request, route);
  if (context_.on_refused && (response->status == 401 || response->status == 403))
    context_.on_refused({route ? route->operation : "", response->status, request.principal.name,
                         request.principal.token_id, peer_.remote});
  const auto memory = hold_answer(*response);
  keep_alive_ = keep_alive_ && parser_->head().keep_alive && !context_.stopping && discard_received_body();
  answering_ = true;
  co_await send(request, *response);
  in_request_ = answering_ = streaming_ = false;
  connection_.socket().set_deadline(context_.limits.keep_alive_timeout);
  if (context_.on_finished)
    context_.on_finished(
        {route ? route->operation : "", request.method, response->status, rt::system_clock().steady() - started});
  co_await connection_.be_fair(0);
  co_return keep_alive_;
}

rt::Task<Response> HttpSession::answer(Request& request, const Route*& route) {
  try {
    co_return co_await dispatch(request, route);
  } catch (const StatusError& refusal) {
    co_return to_response(refusal);
  } catch (const Error& error) {
    if (error.code() == Code::cancelled && context_.stopping)
      co_return Response::error(Error(Code::unavailable, "the server is stopping").hint("try again in a moment"));
    co_return Response::error(error);
  } catch (const std::exception& error) {
    base::log::error("handler-failed", {{"operation", route ? route->operation : ""}, {"error", error.what()}});
    co_return Response::error(Error(Code::internal, "the server failed; its log says more"));
  }
}

rt::Task<Response> HttpSession::dispatch(Request& request, const Route*& route) {
  auto& head = parser_->head();
  request.method = head.method;
  request.headers = std::move(head.headers);
  request.remote = peer_.remote;
  request.is_local = peer_.is_local;
  request.peer_uid = peer_.uid;
  gate_.check(request.method, request.headers, peer_.local_address);
  if (!is_known_method(request.method)) throw StatusError{501, Error(Code::unsupported, "unknown method")};
  if (const auto expect = request.header("expect"); expect && !head.expects_continue)
    throw StatusError{417, Error(Code::unsupported, "the only expectation served is 100-continue")};

  auto target = parse_target(head.target);
  request.path = target.path();
  request.query = std::move(target.query);
  Router::Match match;
  if (!target.has_dots()) match = context_.router.match(request.method, target.segments);
  route = match.route;
  request.params = std::move(match.params);
  // Who has no credential learns nothing, not even which paths exist.
  if (!match.route || match.route->permission != Permission::open) {
    request.principal = asking_ = co_await context_.authenticate(request);
    if (request.principal.role == Role::none)
      throw Error(Code::unauthorized, "a token is needed").hint("send it as Authorization: Bearer TOKEN");
    if (!std::exchange(known_, true) && on_known_) on_known_();
  }
  caller_ = caller_name(request.principal, peer_);
  if (!match.route && match.allow.empty())
    throw Error(Code::not_found, "there is nothing at " + base::printable(request.path));
  if (!match.route)
    throw StatusError{
        405,
        Error(Code::no_method, "this path does not know " + request.method).hint("it knows " + match.allow),
        {{"allow", match.allow}}};
  if (!is_allowed(route->permission, request.principal, request.params))
    throw Error(Code::forbidden, "this token may not do that").hint("ask for a token with a higher role");
  check_rate(*route);
  co_return co_await handle(request, *route);
}

// Administrators and runners have no limit: the one must be able to help, and what the others bring is bounded by the
// runs that were admitted.
void HttpSession::check_rate(const Route& route) {
  if (route.permission == Permission::open || route.permission == Permission::own_attempt) return;
  if (asking_.role == Role::admin || asking_.role == Role::runner) return;
  const auto wait = context_.rate.take(caller_, rt::system_clock().steady());
  if (wait == base::Duration(0)) return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  throw StatusError{429,
                    Error(Code::rate_limited, "this token sends more requests than the site allows")
                        .hint(fmt::format("try again in {} s; limits.requests_per_second in config.yaml is the rule",
                                          seconds)),
                    {{"retry-after", fmt::format("{}", seconds)}}};
}

// A long answer that its client does not take stays in memory: of one caller only so many. The others are refused.
std::optional<MemoryBudget::Hold> HttpSession::hold_answer(Response& response) {
  constexpr std::size_t kSmallAnswer = 64 * 1024;
  const auto* text = std::get_if<std::string>(&response.body);
  if (!text || text->size() <= kSmallAnswer) return std::nullopt;
  auto hold = context_.memory.try_take(caller_, text->size());
  if (!hold)
    response = Response::error(Error(Code::unavailable, "too many answers to this caller are still unread")
                                   .hint("read them, or ask again in a moment"));
  return hold;
}

rt::Task<Response> HttpSession::handle(Request& request, const Route& route) {
  if (parser_->head().content_length.value_or(0) > route.body_limit)
    throw Error(Code::too_large,
                fmt::format("the body is larger than the {} this route allows", base::human_bytes(route.body_limit)));
  Body body(*this, route.body_limit);
  std::optional<ZstdBody> decoded;
  request.body = &body;
  if (const auto encoding = request.header("content-encoding"); encoding && base::to_lower(*encoding) == "zstd")
    request.body = &decoded.emplace(body, route.body_limit);
  else if (encoding && base::to_lower(*encoding) != "identity")
    throw StatusError{415, Error(Code::unsupported, "the content encodings are zstd and identity")};
  if (parser_->is_done()) start_watch();
  Response response = co_await route.handler(request);
  request.body = nullptr;
  co_return response;
}

// Whether the connection can go on: the request was read to its end, if need be from what has already been received.
bool HttpSession::discard_received_body() {
  std::string waste;
  while (!parser_->is_done() && !input_.empty()) {
    std::size_t used = 0;
    try {
      used = parser_->put_body(input_.view(), waste, kBodyPiece);
    } catch (const StatusError&) {
      return false;
    }
    input_.consume(used);
    waste.clear();
    if (used == 0) break;
  }
  return parser_->is_done();
}

// ---- the answer ----

Framing HttpSession::framing_of(const Response& response) {
  Framing framing;
  framing.keep_alive = keep_alive_;
  framing.http11 = parser_->head().http11;
  framing.has_body = response.status != 204 && response.status != 304;
  if (const auto* text = std::get_if<std::string>(&response.body))
    framing.length = text->size();
  else if (const auto* file = std::get_if<FileBody>(&response.body))
    framing.length = file->length;
  else
    framing.chunked = framing.http11 && framing.has_body;
  return framing;
}

rt::Task<void> HttpSession::send(const Request& request, Response& response) {
  if (parser_->head().http11) pack_response(request, response, context_.packing);
  const auto* file = std::get_if<FileBody>(&response.body);
  OwnedFile owned(file ? file->fd : -1);
  // Without chunks the end of the body is the end of the connection.
  if (std::holds_alternative<StreamBody>(response.body) && !parser_->head().http11) keep_alive_ = false;
  std::string head;
  try {
    head = make_response_head(response, framing_of(response), rt::system_clock().utc());
  } catch (const Error& error) {
    response = Response::error(error);
    head = make_response_head(response, framing_of(response), rt::system_clock().utc());
  }
  const Framing framing = framing_of(response);
  const bool head_only = request.method == "HEAD" || !framing.has_body;
  if (const auto* text = std::get_if<std::string>(&response.body)) {
    co_await connection_.write({head, head_only ? std::string_view() : *text});
  } else if (head_only) {
    co_await connection_.write({head});
  } else if (file) {
    co_await connection_.write({head}, file->length > 0);
    co_await connection_.send_file(*file);
  } else {
    co_await send_stream(std::get<StreamBody>(response.body), head, framing.chunked);
  }
}

rt::Task<void> HttpSession::send_stream(StreamBody& stream, std::string_view head, bool chunked) {
  co_await connection_.write({head});
  ChunkWriter writer(connection_, chunked);
  streaming_ = true;
  if (context_.stopping) cancel_.cancel();
  try {
    co_await stream(writer);
  } catch (const Error& error) {
    // The status is out already: a body without its end is the only way left to say that it is not complete.
    if (error.code() != Code::cancelled && error.code() != Code::unavailable)
      base::log::warn("stream-broken", {{"error", error.text()}});
    throw;
  }
  co_await writer.end();
}

}  // namespace lathe::net

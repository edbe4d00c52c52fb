#include "net/http_client.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <optional>

#include "net/client_stream.h"
#include "net/packed_source.h"
#include "net/response_parser.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kCollectLimit = 256 << 20;  // of an answer that is wanted in one piece

// A response that is collected, or handed on as it arrives.
struct Receiver {
  const BodySink* sink = nullptr;
  std::optional<base::Duration> stall;
};

// What went wrong, and whether the server can have seen anything of the request.
struct Failure {
  Error error;
  bool untouched = false;
};
template <class T>
using Attempt = std::expected<T, Failure>;

std::string member(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace

Error ClientResponse::error() const {
  boost::system::error_code damaged;
  const auto value = boost::json::parse(body, damaged);
  if (damaged || !value.is_object() || member(value.get_object(), "message").empty())
    return Error(base::code_from_http_status(status), fmt::format("the server answered {}", status));
  const auto& object = value.get_object();
  const auto code = member(object, "code");
  return Error(code.empty() ? base::code_from_http_status(status) : base::code_from_name(code),
               member(object, "message"))
      .hint(member(object, "hint"))
      .field(member(object, "field"));
}

struct HttpClient::Impl {
  explicit Impl(ClientConfig given)
      : config(std::move(given)), url(Url::parse(config.url)), wake_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Impl() { ::close(wake_fd); }

  ClientConfig config;
  base::Result<Url> url;
  int wake_fd;
  SslContext tls;
  std::optional<ClientStream> stream;
  std::array<char, kPiece> buffer;
  Traffic traffic;

  bool packs() const {
    return config.packing == Packing::always || (config.packing == Packing::automatic && !url->is_on_this_machine());
  }
  base::Result<void> connect();
  std::string make_head(std::string_view method, std::string_view target, std::string_view body_fields,
                        const Headers& extra);
  base::Result<ClientResponse> exchange(std::string_view method, std::string_view start, const BodySource* source,
                                        bool chunked, const Receiver& receiver);
  Attempt<ClientResponse> attempt(std::string_view method, std::string_view start, const BodySource* source,
                                  bool chunked, const Receiver& receiver);
  base::Result<ClientResponse> upload(std::string_view method, std::string_view target,
                                      std::optional<std::uint64_t> length, const BodySource& source,
                                      std::string_view content_type, const Headers& extra, bool packed);
  base::Result<bool> send_source(const BodySource& source, bool chunked);
  Attempt<ClientResponse> receive(bool to_head, const Receiver& receiver);
  base::Result<void> take(ClientResponse& response, ResponseParser& parser, std::string_view piece,
                          const Receiver& receiver, std::optional<ZstdDecoder>& decoder);
  base::Result<bool> write(std::string_view bytes);
};

base::Result<void> HttpClient::Impl::connect() {
  if (url->tls && !tls) {
    LATHE_TRY(tls, make_client_context(config.ca_file));
  }
  LATHE_TRY(auto opened, ClientStream::open(*url, tls.get(), wake_fd, config.connect_timeout));
  stream.emplace(std::move(opened));
  return {};
}

std::string HttpClient::Impl::make_head(std::string_view method, std::string_view target, std::string_view body_fields,
                                        const Headers& extra) {
  std::string head = fmt::format("{} {} HTTP/1.1\r\nhost: {}\r\n", method, target, url->host_field());
  if (!config.token.empty()) head += "authorization: Bearer " + config.token + "\r\n";
  if (packs()) head += "accept-encoding: zstd\r\n";
  head += body_fields;
  for (const auto& [name, value] : extra) head += name + ": " + value + "\r\n";
  head += "\r\n";
  return head;
}

// One retry where a kept connection turns out to be dead and the server cannot have begun to answer.
base::Result<ClientResponse> HttpClient::Impl::exchange(std::string_view method, std::string_view start,
                                                        const BodySource* source, bool chunked,
                                                        const Receiver& receiver) {
  if (stream && stream->is_stale()) stream.reset();
  for (bool kept = stream.has_value();; kept = false) {
    if (!stream) LATHE_TRY_VOID(connect());
    auto result = attempt(method, start, source, chunked, receiver);
    if (result) return std::move(*result);
    stream.reset();
    if (!kept || !result.error().untouched) return base::fail(std::move(result.error().error));
  }
}

Attempt<ClientResponse> HttpClient::Impl::attempt(std::string_view method, std::string_view start,
                                                  const BodySource* source, bool chunked, const Receiver& receiver) {
  auto sent = write(start);
  if (!sent) return std::unexpected(Failure{sent.error()});
  bool complete = *sent;
  bool consumed = false;
  if (complete && source) {
    consumed = true;
    sent = send_source(*source, chunked);
    if (!sent) return std::unexpected(Failure{sent.error()});
    complete = *sent;
  }
  auto response = receive(method == "HEAD", receiver);
  if (!response && consumed) response.error().untouched = false;  // the source cannot be read a second time
  if (!complete) stream.reset();
  return response;
}

base::Result<bool> HttpClient::Impl::write(std::string_view bytes) {
  traffic.sent += bytes.size();
  return stream->write(bytes, config.io_timeout);
}

base::Result<bool> HttpClient::Impl::send_source(const BodySource& source, bool chunked) {
  std::string piece;
  for (;;) {
    LATHE_TRY(const auto count, source(buffer.data(), buffer.size()));
    if (!chunked)
      piece.assign(buffer.data(), count);
    else if (count == 0)
      piece = "0\r\n\r\n";
    else
      piece = fmt::format("{:x}\r\n{}\r\n", count, std::string_view(buffer.data(), count));
    LATHE_TRY(const bool complete, write(piece));
    if (!complete || count == 0) return complete;
  }
}

Attempt<ClientResponse> HttpClient::Impl::receive(bool to_head, const Receiver& receiver) {
  ResponseParser parser(to_head);
  ClientResponse response;
  std::optional<ZstdDecoder> decoder;
  bool heard = false;
  while (!parser.is_done()) {
    auto count = stream->read(buffer.data(), buffer.size(), receiver.stall);
    if (!count) return std::unexpected(Failure{count.error(), !heard && count.error().code() == Code::unavailable});
    if (*count == 0) {
      if (auto ended = parser.put_end(); !ended) return std::unexpected(Failure{ended.error(), !heard});
      break;
    }
    heard = true;
    traffic.received += *count;
    for (std::string_view input(buffer.data(), *count); !input.empty();) {
      if (parser.is_done())
        return std::unexpected(Failure{Error(Code::corrupt, "the server sent more than its answer")});
      std::string_view piece;
      const auto used = parser.put(input, piece);
      if (!used) return std::unexpected(Failure{used.error()});
      input.remove_prefix(*used);
      if (auto taken = take(response, parser, piece, receiver, decoder); !taken)
        return std::unexpected(Failure{taken.error()});
    }
  }
  if (decoder && !decoder->is_complete())
    return std::unexpected(Failure{Error(Code::corrupt, "the server's zstd body ends in the middle of a frame")});
  response.status = parser.status();
  response.headers = std::move(parser.headers());
  if (!parser.keep_alive()) stream.reset();
  return response;
}

base::Result<void> HttpClient::Impl::take(ClientResponse& response, ResponseParser& parser, std::string_view piece,
                                          const Receiver& receiver, std::optional<ZstdDecoder>& decoder) {
  if (piece.empty()) return {};
  auto keep = [&](std::string_view bytes) -> base::Result<void> {
    if (receiver.sink && parser.status() < 400) return (*receiver.sink)(bytes);
    if (response.body.size() + bytes.size() > kCollectLimit)
      return base::fail(Code::too_large, "the server's answer is too large");
    response.body += bytes;
    return {};
  };
  const auto encoding = parser.headers().find("content-encoding");
  if (encoding == parser.headers().end() || encoding->second == "identity") return keep(piece);
  if (encoding->second != "zstd") return base::fail(Code::corrupt, "the server packs with what nobody asked for");
  if (!decoder) decoder.emplace();
  return decoder->put(piece, keep);
}

HttpClient::HttpClient(ClientConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
bool HttpClient::is_local() const { return impl_->url && !impl_->url->socket_path.empty(); }
HttpClient::Traffic HttpClient::traffic() const { return impl_->traffic; }
void HttpClient::interrupt() { ::eventfd_write(impl_->wake_fd, 1); }

void HttpClient::limit_waiting(base::Duration limit) {
  impl_->config.connect_timeout = limit;
  impl_->config.io_timeout = limit;
}

base::Result<ClientResponse> HttpClient::request(std::string_view method, std::string_view target,
                                                 std::string_view body, std::string_view content_type,
                                                 const Headers& extra) {
  if (!impl_->url) return base::fail(impl_->url.error());
  std::string fields;
  const auto packed = impl_->packs() && !extra.contains("content-encoding") ? pack_text(body) : std::nullopt;
  if (packed) body = *packed, fields = "content-encoding: zstd\r\n";
  if (!body.empty()) fields += fmt::format("content-type: {}\r\n", content_type);
  if (!body.empty() || (method != "GET" && method != "HEAD"))
    fields += fmt::format("content-length: {}\r\n", body.size());
  const auto start = impl_->make_head(method, target, fields, extra).append(body);
  return impl_->exchange(method, start, nullptr, false, {nullptr, impl_->config.io_timeout});
}

base::Result<ClientResponse> HttpClient::upload(std::string_view method, std::string_view target,
                                                std::optional<std::uint64_t> length, const BodySource& source,
                                                std::string_view content_type, const Headers& extra) {
  if (!impl_->url) return base::fail(impl_->url.error());
  if (impl_->packs() && !extra.contains("content-encoding")) {
    PackedSource packed(source);
    LATHE_TRY(const bool pays, packed.probe());
    return impl_->upload(
        method, target, pays ? std::nullopt : length,
        [&](char* buffer, std::size_t size) { return packed.read(buffer, size); }, content_type, extra, pays);
  }
  return impl_->upload(method, target, length, source, content_type, extra, false);
}

base::Result<ClientResponse> HttpClient::Impl::upload(std::string_view method, std::string_view target,
                                                      std::optional<std::uint64_t> length, const BodySource& source,
                                                      std::string_view content_type, const Headers& extra,
                                                      bool packed) {
  auto framing = length ? fmt::format("content-length: {}\r\n", *length) : "transfer-encoding: chunked\r\n";
  if (packed) framing += "content-encoding: zstd\r\n";
  const auto start = make_head(method, target, fmt::format("content-type: {}\r\n{}", content_type, framing), extra);
  return exchange(method, start, &source, !length, {nullptr, config.io_timeout});
}

base::Result<ClientResponse> HttpClient::download(std::string_view target, const BodySink& sink, const Headers& extra,
                                                  bool no_stall_limit) {
  if (!impl_->url) return base::fail(impl_->url.error());
  const auto start = impl_->make_head("GET", target, "", extra);
  return impl_->exchange("GET", start, nullptr, false,
                         {&sink, no_stall_limit ? std::nullopt : std::optional(impl_->config.io_timeout)});
}

}  // namespace lathe::net

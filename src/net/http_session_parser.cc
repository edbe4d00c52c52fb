#include "net/http_session_parser.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "base/strings.h"
#include "net/http_server.h"
#include "net/status_error.h"

namespace lathe::net {
namespace {

namespace http = boost::beast::http;
using base::Code;
using base::Error;
using boost::beast::error_code;
using BeastView = boost::beast::string_view;

[[noreturn]] void refuse(int status, std::string message) {
  throw StatusError{status, Error(status == 400   ? Code::invalid
                                  : status == 501 ? Code::unsupported
                                                  : Code::too_large,
                                  std::move(message))};
}

std::string_view view(BeastView text) { return {text.data(), text.size()}; }

// A second one of these is a contradiction or an attack; of all others the values are joined.
constexpr std::array kSingle{"authorization", "content-encoding", "content-length", "content-type",     "expect",
                             "host",          "origin",           "range",          "transfer-encoding"};

// The overhead of chunking a client may spend: even 1-byte chunks pass (5 bytes each), endless extensions do not.
constexpr std::uint64_t kChunkSlack = 64 * 1024, kChunkOverhead = 8;

}  // namespace

struct RequestParser::Impl final : http::basic_parser<true> {
  explicit Impl(const HttpLimits& bounds) : limits(bounds) {
    header_limit(limits.header_bytes);
    body_limit(boost::none);  // the session counts: the limit is the route's, which is not known yet
  }

  const HttpLimits& limits;
  RequestHead head;
  std::uint64_t head_bytes = 0;
  std::uint32_t fields = 0;
  bool in_trailer = false;
  std::uint64_t wire_bytes = 0, body_bytes = 0;
  std::string* out = nullptr;
  std::size_t room = 0;

  void on_request_impl(http::verb, BeastView method, BeastView target, int version, error_code&) override {
    if (target.size() > limits.target_bytes) refuse(414, "the request target is too long");
    head.method = view(method);
    head.target = view(target);
    head.http11 = version >= 11;
  }
  void on_response_impl(int, BeastView, int, error_code&) override {}

  void on_field_impl(http::field, BeastView raw_name, BeastView raw_value, error_code&) override {
    if (++fields > limits.header_count) refuse(431, "the request has too many header fields");
    if (in_trailer) return;  // nobody asked for trailers
    const auto name = base::to_lower(view(raw_name));
    const auto value = view(raw_value);
    if (name == "transfer-encoding" && base::to_lower(value) != "chunked")
      refuse(501, "the only transfer encoding is chunked");
    const auto [place, fresh] = head.headers.emplace(name, value);
    if (fresh) return;
    if (std::ranges::find(kSingle, name) != kSingle.end()) refuse(400, "the header field " + name + " is there twice");
    place->second += (name == "cookie" ? "; " : ", ");
    place->second += value;
  }

  void on_header_impl(error_code&) override {
    in_trailer = true;
    head.keep_alive = keep_alive();
    if (const auto length = content_length()) head.content_length = *length;
    const auto expect = head.headers.find("expect");
    head.expects_continue =
        head.http11 && expect != head.headers.end() && base::to_lower(expect->second) == "100-continue";
  }

  std::size_t take(BeastView bytes, error_code& error) {
    const std::size_t count = std::min(room, bytes.size());
    out->append(bytes.data(), count);
    room -= count;
    if (count < bytes.size()) error = http::error::need_buffer;
    return count;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(BeastView bytes, error_code& error) override { return take(bytes, error); }
  void on_chunk_header_impl(std::uint64_t, BeastView, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, error_code& error) override {
    return take(bytes, error);
  }
  void on_finish_impl(error_code&) override {}
};

RequestParser::RequestParser(const HttpLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;
bool RequestParser::has_head() const { return impl_->is_header_done(); }
bool RequestParser::is_done() const { return impl_->is_done(); }
RequestHead& RequestParser::head() { return impl_->head; }

std::size_t RequestParser::put_head(std::string_view input) {
  error_code error;
  const std::size_t used = impl_->put({input.data(), input.size()}, error);
  impl_->head_bytes += used;
  const bool needs_more = error == http::error::need_more;
  // Beast's limit is for one call; this one is for the whole head.
  if (error == http::error::header_limit ||
      impl_->head_bytes + (needs_more ? input.size() - used : 0) > impl_->limits.header_bytes)
    refuse(431, "the header of the request is too large");
  if (error && !needs_more) refuse(400, "not a valid HTTP request: " + error.message());
  if (has_head()) impl_->eager(true);
  return used;
}

std::size_t RequestParser::put_body(std::string_view input, std::string& out, std::size_t room) {
  impl_->out = &out;
  impl_->room = room;
  const std::size_t before = out.size();
  error_code error;
  const std::size_t used = impl_->put({input.data(), input.size()}, error);
  if (error && error != http::error::need_more && error != http::error::need_buffer)
    refuse(400, "not a valid request body: " + error.message());
  impl_->wire_bytes += used;
  impl_->body_bytes += out.size() - before;
  if (impl_->wire_bytes - impl_->body_bytes > kChunkSlack + kChunkOverhead * impl_->body_bytes)
    refuse(400, "the body consists of chunk headers, not of data");
  return used;
}

}  // namespace lathe::net

#include "net/http.h"

#include "base/strings.h"

namespace lathe::net {
namespace {

void append_json_string(std::string& out, std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out.append({'\\', c});
    else if (c == '\n')
      out += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      out.append({'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]});
    else
      out += c;
  }
  out += '"';
}

void append_member(std::string& out, std::string_view name, const std::string& text) {
  out += out.size() > 1 ? ",\"" : "\"";
  out += name;
  out += "\":";
  // A message may quote a client's bytes; JSON must stay valid UTF-8.
  if (base::is_valid_utf8(text))
    append_json_string(out, text);
  else
    append_json_string(out, base::printable(text, 2000));
}

}  // namespace

std::string_view address_of(std::string_view remote) {
  return remote.substr(0, remote.starts_with("unix ") ? remote.rfind(' ') : remote.rfind(':'));
}

std::optional<std::string> Request::header(std::string_view lower_case_name) const {
  const auto found = headers.find(lower_case_name);
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> Request::query_value(const std::string& name) const {
  const auto found = query.find(name);
  if (found == query.end()) return std::nullopt;
  return found->second;
}

rt::Task<std::string> Request::text() {
  std::string out;
  if (!body) co_return out;
  constexpr std::uint64_t kFirstHold = 64 * 1024;
  const auto length = body->content_length();
  std::uint64_t held = length.value_or(kFirstHold);
  co_await body->hold(held);
  // The length is only a client's claim: reserve no more than it can cheaply be wrong about.
  if (length) out.reserve(std::min<std::uint64_t>(*length, 1u << 20));
  for (;;) {
    const auto piece = co_await body->read();
    if (piece.empty()) co_return out;
    if (out.size() + piece.size() > held) co_await body->hold(held = 2 * (out.size() + piece.size()));
    out += piece;
  }
}

Response Response::json(std::string text, int status) {
  Response response;
  response.status = status;
  response.headers.emplace("content-type", "application/json");
  response.body = std::move(text);
  return response;
}

Response Response::empty(int status) {
  Response response;
  response.status = status;
  return response;
}

Response Response::error(const base::Error& error) {
  std::string text = "{";
  append_member(text, "code", std::string(base::code_name(error.code())));
  append_member(text, "message", error.text());
  append_member(text, "hint", error.hint());
  append_member(text, "field", error.field());
  text += "}";
  Response response = json(std::move(text), base::http_status(error.code()));
  if (response.status == 401) response.headers.emplace("www-authenticate", "Bearer");
  if (response.status == 429 || response.status == 503) response.headers.emplace("retry-after", "1");
  return response;
}

}  // namespace lathe::net

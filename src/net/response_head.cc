#include "net/response_head.h"

#include <algorithm>
#include <ctime>

namespace lathe::net {
namespace {

std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 507:
      return "Insufficient Storage";
    default:
      return "-";
  }
}

// Formatting a date costs more than the rest of the head; it changes once a second.
const std::string& date_field(base::UtcTime now) {
  thread_local std::time_t second = -1;
  thread_local std::string text;
  const auto current = static_cast<std::time_t>(now.micros / 1'000'000);
  if (current != second) {
    std::tm parts{};
    ::gmtime_r(&current, &parts);
    char buffer[64];
    text.assign(buffer, std::strftime(buffer, sizeof buffer, "date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts));
    second = current;
  }
  return text;
}

constexpr std::pair<std::string_view, std::string_view> kAlways[] = {
    {"x-content-type-options", "nosniff"},
    {"referrer-policy", "no-referrer"},
    {"content-security-policy", "default-src 'none'; frame-ancestors 'none'"},
    {"cache-control", "no-store"},
};

// The framing is the server's: a handler that writes it too would contradict it.
bool is_framing(std::string_view name) {
  return name == "content-length" || name == "transfer-encoding" || name == "connection";
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  const auto breaks = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
  if (name.empty() || std::ranges::any_of(name, [](unsigned char c) { return c <= ' ' || c == ':' || c > '~'; }) ||
      std::ranges::any_of(value, breaks))
    throw base::Error(base::Code::internal, "an answer has a header field that cannot be sent");
  out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::string make_response_head(const Response& response, const Framing& framing, base::UtcTime now) {
  std::string out;
  out.reserve(512);
  out += fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason(response.status));
  for (const auto& [name, value] : response.headers) {
    if (is_framing(name)) throw base::Error(base::Code::internal, "a handler set " + name);
    append_field(out, name, value);
  }
  for (const auto& [name, value] : kAlways)
    if (!response.headers.contains(name)) append_field(out, name, value);
  out += date_field(now);
  if (framing.length && framing.has_body) out += fmt::format("content-length: {}\r\n", *framing.length);
  if (framing.chunked) out += "transfer-encoding: chunked\r\n";
  if (!framing.keep_alive)
    out += "connection: close\r\n";
  else if (!framing.http11)
    out += "connection: keep-alive\r\n";
  out += "\r\n";
  return out;
}

}  // namespace lathe::net

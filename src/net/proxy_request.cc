#include "net/proxy_request.h"

#include <array>

#include "base/strings.h"

namespace lathe::net {
namespace {

using base::Code;

constexpr std::array<std::string_view, 4> kForUs{"proxy-authorization", "proxy-connection", "connection", "keep-alive"};

base::Result<WebUrl> parse_tunnel(std::string_view target) {
  auto url = parse_web_url(fmt::format("https://{}/", target));
  if (!url || url->path != "/" || !url->query.empty())
    return base::fail(Code::invalid, "'{}' is no host and port", base::printable(target, 200));
  return url;
}

// Takes "name: value" lines apart; keeps those that are not for us.
base::Result<void> read_headers(ProxyRequest& request, std::string_view lines) {
  for (std::string_view line : base::split(lines, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto colon = line.find(':');
    if (colon == 0 || colon == line.npos || line.front() == ' ' || line.front() == '\t')
      return base::fail(Code::invalid, "a header line cannot be read");
    const std::string name = base::to_lower(line.substr(0, colon));
    if (name == "proxy-authorization") request.authorization = base::trim(line.substr(colon + 1));
    if (std::ranges::find(kForUs, name) == kForUs.end()) request.headers += std::string(line) + "\r\n";
  }
  return {};
}

}  // namespace

std::string ProxyRequest::to_proxy(std::string_view authorization_line) const {
  std::string out = is_tunnel ? fmt::format("CONNECT {}:{} HTTP/1.1\r\n", target.host, target.port)
                              : fmt::format("{} {} HTTP/1.1\r\n", method, target.text());
  if (is_tunnel) out += fmt::format("Host: {}:{}\r\n", target.host, target.port);
  if (!authorization_line.empty()) out += std::string(authorization_line) + "\r\n";
  if (!is_tunnel) out += headers + "Connection: close\r\n";
  return out + "\r\n";
}

base::Result<ProxyRequest> parse_proxy_request(std::string_view head) {
  const auto end = head.find("\r\n");
  const auto words = base::split(head.substr(0, end), ' ');
  if (end == head.npos || words.size() != 3 || !words[2].starts_with("HTTP/1."))
    return base::fail(Code::invalid, "this is no HTTP request");
  ProxyRequest request;
  request.method = words[0];
  request.is_tunnel = request.method == "CONNECT";
  auto target = request.is_tunnel ? parse_tunnel(words[1]) : parse_web_url(words[1]);
  if (!target) return std::unexpected(std::move(target).error());
  if (!request.is_tunnel && target->scheme != "http") return base::fail(Code::invalid, "https goes through CONNECT");
  request.target = std::move(*target);
  LATHE_TRY_VOID(read_headers(request, head.substr(end + 2)));
  if (!request.is_tunnel)
    request.to_target = fmt::format("{} {}{}{} HTTP/1.1\r\n{}Connection: close\r\n\r\n", request.method,
                                    request.target.path, request.target.query.empty() ? "" : "?", request.target.query,
                                    request.headers);
  return request;
}

}  // namespace lathe::net

#include "net/web_url.h"

#include "base/strings.h"

namespace lathe::net {
namespace {

base::Error refused(std::string_view text, std::string_view why) {
  return base::Error(base::Code::invalid, fmt::format("the URL '{}' {}", base::printable(text, 300), why))
      .field("url")
      .hint("use an address like https://example.org/data/train.csv");
}

bool is_plain(std::string_view text) {
  for (unsigned char c : text)
    if (c <= 0x20 || c == 0x7f || c == '\\' || c == '"' || c == '<' || c == '>') return false;
  return base::is_valid_utf8(text);
}

bool is_host(std::string_view host, bool is_v6) {
  if (host.empty() || host.size() > 253) return false;
  for (char c : host) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!letter && c != '.' && c != '-' && c != '_' && !(is_v6 && c == ':')) return false;
  }
  return true;
}

}  // namespace

std::string WebUrl::authority() const {
  std::string name = host.contains(':') ? "[" + host + "]" : host;
  return has_default_port ? name : fmt::format("{}:{}", name, port);
}

std::string WebUrl::text() const {
  return fmt::format("{}://{}{}{}{}", scheme, authority(), path, query.empty() ? "" : "?", query);
}

base::Result<WebUrl> parse_web_url(std::string_view text) {
  if (text.size() > 4096) return base::fail(refused(text, "is longer than 4096 bytes"));
  if (!is_plain(text)) return base::fail(refused(text, "has characters that a URL cannot have"));
  WebUrl url;
  auto colon = text.find("://");
  if (colon != text.npos) url.scheme = base::to_lower(text.substr(0, colon));
  if (url.scheme != "http" && url.scheme != "https") return base::fail(refused(text, "is neither http nor https"));
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  auto slash = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, slash), tail = slash == rest.npos ? "" : rest.substr(slash);
  if (authority.contains('@')) return base::fail(refused(authority.substr(authority.find('@')), "carries a password"));
  bool is_v6 = authority.starts_with('[');
  auto host_end = is_v6 ? authority.find(']') : authority.find(':');
  if (is_v6 && host_end == authority.npos) return base::fail(refused(text, "has no host"));
  url.host = base::to_lower(authority.substr(is_v6, host_end - is_v6));
  std::string_view port = host_end == authority.npos ? "" : authority.substr(host_end + is_v6);
  if (!is_host(url.host, is_v6)) return base::fail(refused(text, "has no usable host"));
  url.port = url.scheme == "https" ? 443 : 80;
  if (!port.empty()) {
    auto number = port.starts_with(':') ? base::parse_u64(port.substr(1)) : std::nullopt;
    if (!number || *number == 0 || *number > 65535) return base::fail(refused(text, "has no usable port"));
    url.has_default_port = *number == url.port;
    url.port = static_cast<std::uint16_t>(*number);
  }
  auto question = tail.find('?');
  url.path = tail.starts_with('/') ? tail.substr(0, question) : "/";
  if (question != tail.npos) url.query = tail.substr(question + 1);
  return url;
}

}  // namespace lathe::net

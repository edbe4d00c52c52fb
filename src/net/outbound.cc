#include "net/outbound.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstdlib>

#include "base/strings.h"

namespace lathe::net {
namespace {

std::string variable(const char* name, const char* other = nullptr) {
  const char* value = std::getenv(name);
  if (!value && other) value = std::getenv(other);
  return value ? value : "";
}

// One entry of no_proxy: "example.org", ".example.org", "host:port".
bool is_excepted(std::string_view entry, const WebUrl& url) {
  if (entry == "*") return true;
  auto colon = entry.rfind(':');
  if (colon != entry.npos && entry.find(':') == colon) {
    if (base::parse_u64(entry.substr(colon + 1)) != url.port) return false;
    entry = entry.substr(0, colon);
  }
  while (entry.starts_with('.')) entry.remove_prefix(1);
  if (entry.empty()) return false;
  std::string name = base::to_lower(entry);
  return url.host == name || (url.host.size() > name.size() && url.host.ends_with("." + name));
}

std::string address_bytes(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return {reinterpret_cast<const char*>(&v4.sin_addr), 4};
  }
  if (address.sa_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  std::string bytes(reinterpret_cast<const char*>(&v6.sin6_addr), 16);
  // An IPv4 address in IPv6 clothes (mapped, or behind NAT64) is that address.
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12), kNat64("\0\x64\xff\x9b\0\0\0\0\0\0\0\0", 12);
  if (bytes.starts_with(kMapped) || bytes.starts_with(kNat64)) return bytes.substr(12);
  return bytes;
}

// Not those of documentation (TEST-NET): they belong to nobody, and some sites map public names to them.
constexpr std::array<std::string_view, 20> kPrivate{
    "0.0.0.0/8",     "10.0.0.0/8",     "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4",   "240.0.0.0/4", "::/96",          "fc00::/7",      "fe80::/10",
    "ff00::/8",      "2001:db8::/32",  "100::/64",      "2002::/16",   "2001::/32",      "64:ff9b:1::/48"};

}  // namespace

ProxySettings ProxySettings::from_environment() {
  return {variable("http_proxy"), variable("https_proxy", "HTTPS_PROXY"), variable("no_proxy", "NO_PROXY")};
}

std::string proxy_for(const ProxySettings& settings, const WebUrl& url) {
  const std::string& proxy = url.scheme == "https" ? settings.https : settings.http;
  if (proxy.empty()) return "";
  for (auto part : base::split(settings.none, ','))
    if (is_excepted(base::trim(part), url)) return "";
  return proxy;
}

base::Result<AddressRange> AddressRange::parse(std::string_view text) {
  auto slash = text.find('/');
  std::string host(text.substr(0, slash));
  AddressRange range;
  range.bytes_.resize(host.contains(':') ? 16 : 4);
  bool is_address = ::inet_pton(range.bytes_.size() == 16 ? AF_INET6 : AF_INET, host.c_str(), range.bytes_.data()) == 1;
  auto most = range.bytes_.size() * 8;
  auto bits = slash == text.npos ? std::optional<std::uint64_t>(most) : base::parse_u64(text.substr(slash + 1));
  if (!is_address || !bits || *bits > most)
    return base::fail(base::Code::invalid, "'{}' is not an address or a range like 10.0.0.0/8",
                      base::printable(text, 60));
  range.bits_ = static_cast<int>(*bits);
  return range;
}

bool AddressRange::contains(const sockaddr& address) const {
  std::string bytes = address_bytes(address);
  if (bytes.size() != bytes_.size()) return false;
  for (int bit = 0; bit < bits_; ++bit) {
    auto byte = static_cast<std::size_t>(bit / 8);
    if (((bytes[byte] ^ bytes_[byte]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

bool is_private_address(const sockaddr& address) {
  static const std::vector<AddressRange> ranges = [] {
    std::vector<AddressRange> all;
    for (auto text : kPrivate) all.push_back(base::value_or_throw(AddressRange::parse(text)));
    return all;
  }();
  if (address_bytes(address).empty()) return true;
  for (const auto& range : ranges)
    if (range.contains(address)) return true;
  return false;
}

base::Result<void> check_address(std::string_view host, const sockaddr& address,
                                 const std::vector<AddressRange>& allowed_private) {
  if (!is_private_address(address)) return {};
  for (const auto& range : allowed_private)
    if (range.contains(address)) return {};
  char text[INET6_ADDRSTRLEN] = "?";
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  if (address.sa_family == AF_INET) ::inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
  if (address.sa_family == AF_INET6) ::inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
  const std::string shown = host == text ? std::string(text) : fmt::format("{} ({})", base::printable(host, 200), text);
  return base::fail(
      base::Error(base::Code::forbidden,
                  fmt::format("{} may not be reached: it is an address of a private network", shown))
          .hint("an operator can allow it in config.yaml: fetch: {private: [ADDRESS/BITS]}"));
}

}  // namespace lathe::net

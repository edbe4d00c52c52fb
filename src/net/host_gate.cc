#include "net/host_gate.h"

#include <algorithm>

#include "base/strings.h"
#include "net/status_error.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

struct Authority {
  std::string_view host;  // without brackets
  std::string_view port;
};

Authority split_authority(std::string_view text) {
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == text.npos) return {};
    const auto rest = text.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return {};
    return {text.substr(1, end - 1), rest.empty() ? rest : rest.substr(1)};
  }
  const auto colon = text.find(':');
  return {text.substr(0, colon), colon == text.npos ? std::string_view() : text.substr(colon + 1)};
}

bool is_loopback_name(std::string_view host) { return host == "localhost" || host == "127.0.0.1" || host == "::1"; }

[[noreturn]] void refuse(int status, std::string message, std::string hint = {}) {
  throw StatusError{status,
                    Error(status == 400 ? Code::invalid : Code::forbidden, std::move(message)).hint(std::move(hint))};
}

}  // namespace

bool HostGate::is_ours(std::string_view raw, std::string_view local_address) const {
  const auto lower = base::to_lower(raw);
  if (std::ranges::any_of(allowed_hosts, [&](const auto& allowed) {
        return lower == allowed || split_authority(lower).host == std::string_view(allowed);
      }))
    return true;
  const auto [name, port_text] = split_authority(lower);
  const auto asked = port_text.empty() ? std::optional<std::uint64_t>(tls ? 443 : 80) : base::parse_u64(port_text);
  if (name.empty() || asked != port) return false;
  return is_loopback_name(name) || name == base::to_lower(host) || name == local_address;
}

void HostGate::check(std::string_view method, const Headers& headers, std::string_view local_address) const {
  if (any_host) return;
  const auto host_field = headers.find("host");
  if (host_field == headers.end()) refuse(400, "the request has no Host");
  if (!is_ours(host_field->second, local_address))
    refuse(403, "this server does not answer to Host " + base::printable(host_field->second),
           "use the address the server listens on, or add the name to allowed_hosts");
  // A link from elsewhere may be followed; nothing else from elsewhere is served.
  const auto site = headers.find("sec-fetch-site");
  const bool reads = method == "GET" || method == "HEAD";
  if (!reads && site != headers.end() && site->second != "same-origin" && site->second != "none")
    refuse(403, "requests from other sites are refused");
  // A page's own scripts name their origin, also when they only read or listen to a stream.
  if (const auto origin = headers.find("origin"); origin != headers.end()) {
    const std::string_view scheme = tls ? "https://" : "http://";
    std::string_view value = origin->second;
    const bool same_scheme = value.starts_with(scheme);
    if (!same_scheme || !is_ours(value.substr(scheme.size()), local_address))
      refuse(403, "requests from other origins are refused: " + base::printable(value));
  }
}

}  // namespace lathe::net

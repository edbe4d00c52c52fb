#include "cli/server_options.h"

#include "base/strings.h"

namespace lathe::cli {

base::Result<ServerArgs> server_args(const Call& call) {
  const auto& typed = call.arguments;
  ServerArgs args{.state = call.settings.state,
                  .listen = typed.value_or("listen", ""),
                  .tls_certificate = typed.value_or("tls-cert", ""),
                  .tls_key = typed.value_or("tls-key", ""),
                  .allowed_hosts = typed.all("allow-host"),
                  .log_level = typed.value_or("log-level", "info"),
                  .log_file = typed.value_or("log-file", "")};
  if (args.tls_certificate.empty() != args.tls_key.empty())
    return base::fail(base::Error(base::Code::invalid, "TLS needs both files").hint("give --tls-cert and --tls-key"));
  auto colon = args.listen.rfind(':');
  auto port =
      colon == std::string::npos ? std::nullopt : base::parse_u64(std::string_view(args.listen).substr(colon + 1));
  // The C library would read an empty host or "*" as loopback, which is the opposite of what was meant.
  bool has_host = colon != std::string::npos && colon > 0 && args.listen.substr(0, colon) != "*";
  if (!args.listen.empty() && (!has_host || !port || *port > 65535))
    return base::fail(
        base::Error(base::Code::invalid, fmt::format("'{}' is not HOST:PORT", base::printable(args.listen)))
            .hint("for example --listen 127.0.0.1:8080; with TLS also 0.0.0.0:8080 for all addresses")
            .field("listen"));
  return args;
}

std::vector<std::string> server_words(const ServerArgs& args) {
  std::vector<std::string> words{"server", "--state", args.state.string(), "--log-level", args.log_level};
  auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--log-file", args.log_file.string());
  add("--listen", args.listen);
  add("--tls-cert", args.tls_certificate.string());
  add("--tls-key", args.tls_key.string());
  for (const auto& host : args.allowed_hosts) add("--allow-host", host);
  return words;
}

}  // namespace lathe::cli

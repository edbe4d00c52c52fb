#include "cli/settings.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/strings.h"
#include "cli/files.h"
#include "cli/json.h"
#include "cli/terminal.h"
#include "net/client_stream.h"
#include "sys/fd.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

std::optional<std::string> variable(const Surroundings& surroundings, const char* name) {
  auto found = surroundings.variables.find(name);
  return found == surroundings.variables.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> typed_or_variable(const Arguments& arguments, std::string_view option,
                                             const Surroundings& surroundings, const char* name) {
  auto typed = arguments.find(option);
  return typed ? typed : variable(surroundings, name);
}

base::Result<fs::path> default_state(const Surroundings& surroundings) {
  if (auto xdg = variable(surroundings, "XDG_STATE_HOME")) return fs::path(*xdg) / "lathe";
  if (auto home = variable(surroundings, "HOME")) return fs::path(*home) / ".local/state/lathe";
  return base::fail(
      base::Error(base::Code::invalid, "there is no HOME, so the state folder is unknown").hint("give --state DIR"));
}

// What a config.json says decides where a token goes, so that a file of somebody else, in a folder that everybody may
// write to, must not speak for this user.
base::Result<std::string> read_own_file(const fs::path& file) {
  const sys::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) return base::fail(base::errno_error(errno, file.string()));
  if (!S_ISREG(info.st_mode)) return base::fail(base::Code::invalid, "{} is not a file", file.string());
  if (info.st_uid == ::geteuid() || info.st_uid == 0) return read_small_file(fmt::format("/proc/self/fd/{}", fd.get()));
  say("{} is ignored: it belongs to another user", base::printable(file.string(), 4096));
  return base::fail(base::Code::forbidden, "{} belongs to another user", file.string());
}

std::optional<WorkspaceConfig> read_config(const fs::path& file) {
  auto text = read_own_file(file);
  auto value = text ? parse_json(*text, file.string()) : base::Result<json::value>(json::value());
  if (!text || !value || text_at(*value, "/workspace_name").empty()) return std::nullopt;
  WorkspaceConfig config{.file = file,
                         .workspace = text_at(*value, "/workspace_name"),
                         .subscription_id = text_at(*value, "/subscription_id"),
                         .resource_group = text_at(*value, "/resource_group"),
                         .server = text_at(*value, "/lathe/server"),
                         .token_file = text_at(*value, "/lathe/token_file")};
  return config;
}

// "lathe_" and 43 characters of base64url. Any other text is not ours to send anywhere.
bool is_token(std::string_view text) {
  constexpr std::string_view kPrefix = "lathe_";
  constexpr std::size_t kSecret = 43;
  if (text.size() != kPrefix.size() + kSecret || !text.starts_with(kPrefix)) return false;
  return std::ranges::all_of(text.substr(kPrefix.size()), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// On a network without TLS everybody on the way could read the token.
base::Result<void> check_private(const std::string& address) {
  LATHE_TRY(auto url, net::Url::parse(address));
  if (url.tls || !url.socket_path.empty() || url.host == "localhost") return {};
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, url.host.c_str(), &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127) return {};
  if (::inet_pton(AF_INET6, url.host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6)) return {};
  return base::fail(
      base::Error(base::Code::invalid,
                  fmt::format("{} is another machine, and without TLS the token would be readable on the network",
                              base::printable(address)))
          .hint("use https://, or forward a port of this machine to it: ssh -L"));
}

base::Result<std::string> read_token(const fs::path& file) {
  auto text = read_small_file(file, 4096);
  if (!text)
    return base::fail(
        std::move(text).error().during("reading the token").hint("--token-file names the file with your token"));
  if (is_token(base::trim(*text))) return std::string(base::trim(*text));
  return base::fail(base::Error(base::Code::unauthorized, fmt::format("{} holds no token of Lathe", file.string()))
                        .hint("--token-file names the file with your token; `lathe token create` makes one"));
}

std::string address_of(const ServerFile& server) {
  bool usable = !server.socket.empty() && ::access(server.socket.c_str(), W_OK) == 0;
  return usable ? "unix://" + server.socket : server.url;
}

// A tunnel's end is on loopback but leads elsewhere: only its user can know.
base::Result<net::Packing> read_packing(const Surroundings& surroundings) {
  auto found = surroundings.variables.find("LATHE_COMPRESS");
  if (found == surroundings.variables.end() || found->second.empty() || found->second == "auto")
    return net::Packing::automatic;
  if (found->second == "always") return net::Packing::always;
  if (found->second == "never") return net::Packing::never;
  return base::fail(
      base::Error(base::Code::invalid, fmt::format("LATHE_COMPRESS is '{}'", base::printable(found->second, 40)))
          .hint("auto, always or never"));
}

}  // namespace

Surroundings real_surroundings() {
  Surroundings out;
  for (const char* name :
       {"LATHE_STATE", "LATHE_SERVER", "LATHE_TOKEN_FILE", "LATHE_COMPRESS", "XDG_STATE_HOME", "HOME", "PATH"})
    if (const char* value = std::getenv(name)) out.variables[name] = value;
  std::error_code ignored;
  out.folder = fs::current_path(ignored);
  return out;
}

std::optional<WorkspaceConfig> find_workspace_config(const fs::path& folder) {
  for (fs::path at = folder;; at = at.parent_path()) {
    for (const char* name : {".azureml/config.json", "config.json", "aml_config/config.json"})
      if (auto config = read_config(at / name)) return config;
    if (!at.has_relative_path()) return std::nullopt;
  }
}

std::string workspace_config_text(const WorkspaceConfig& config) {
  json::object lathe{{"server", config.server}, {"token_file", config.token_file.string()}};
  return pretty_json(json::object{{"subscription_id", config.subscription_id},
                                  {"resource_group", config.resource_group},
                                  {"workspace_name", config.workspace},
                                  {"lathe", std::move(lathe)}});
}

base::Result<Settings> make_settings(const Arguments& arguments, const Surroundings& surroundings) {
  Settings out;
  out.json = arguments.value_or("output", "table") == "json";
  out.config = find_workspace_config(surroundings.folder);
  auto state = typed_or_variable(arguments, "state", surroundings, "LATHE_STATE");
  auto server = typed_or_variable(arguments, "server", surroundings, "LATHE_SERVER");
  auto token_file = typed_or_variable(arguments, "token-file", surroundings, "LATHE_TOKEN_FILE");

  // A config.json speaks for the server only where nobody named one.
  bool config_speaks = out.config && !state && !server && !out.config->token_file.empty();
  if (config_speaks) {
    out.server = out.config->server;
    if (!token_file) token_file = out.config->token_file;
    // Where the token lies in a state folder of this machine, its server.json knows the address after a restart.
    std::error_code ignored;
    auto beside = fs::path(*token_file).parent_path();
    if (fs::exists(beside / "server.json", ignored) || fs::exists(beside / "lathe.db", ignored)) {
      state = beside;
      out.server.clear();
    }
  }
  if (state) {
    out.state = surroundings.folder / *state;
  } else {
    LATHE_TRY(out.state, default_state(surroundings));
  }
  out.state = out.state.lexically_normal();
  if (server) out.server = *server;
  out.token_file = token_file ? surroundings.folder / *token_file : out.state / "token";
  if (out.config) out.workspace = out.config->workspace;
  LATHE_TRY(out.packing, read_packing(surroundings));
  if (auto workspace = arguments.find("workspace")) out.workspace = *workspace;
  return out;
}

base::Result<ServerFile> read_server_file(const fs::path& state) {
  auto text = read_small_file(state / "server.json");
  if (!text) {
    if (text.error().code() != base::Code::not_found) return base::fail(std::move(text).error());
    return base::fail(base::Error(base::Code::unavailable, fmt::format("no server runs on {}", state.string()))
                          .hint("start one: lathe up   (another one is named by --server or --state)"));
  }
  LATHE_TRY(auto value, parse_json(*text, (state / "server.json").string()));
  ServerFile out{
      .url = text_at(value, "/url"), .socket = text_at(value, "/socket"), .version = text_at(value, "/version")};
  out.pid = static_cast<std::int64_t>(base::parse_u64(text_at(value, "/pid")).value_or(0));
  return out;
}

base::Result<net::ClientConfig> locate_server(const Settings& settings) {
  net::ClientConfig config;
  config.url = settings.server;
  if (config.url.empty()) {
    LATHE_TRY(auto server, read_server_file(settings.state));
    config.url = address_of(server);
  }
  LATHE_TRY_VOID(check_private(config.url));
  LATHE_TRY(config.token, read_token(settings.token_file));
  config.packing = settings.packing;
  return config;
}

}  // namespace lathe::cli

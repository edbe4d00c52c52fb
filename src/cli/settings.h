// Settings: where the state folder, the server, the token and the workspace are. Found, in this order: what was typed,
// the environment (LATHE_STATE, LATHE_SERVER, LATHE_TOKEN_FILE, LATHE_COMPRESS), the workspace's config.json in this
// folder or a parent, the user's own state folder. Plain values; nothing is opened before it is needed.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "cli/arguments.h"
#include "net/http_client.h"

namespace lathe::cli {

// What the process stands in; a value, so that tests can make one.
struct Surroundings {
  std::map<std::string, std::string> variables;
  std::filesystem::path folder;  // the current one, absolute
};
Surroundings real_surroundings();

// The config.json of Azure ML with our own part: {"subscription_id", "resource_group", "workspace_name",
// "lathe": {"server", "token_file"}}.
struct WorkspaceConfig {
  std::filesystem::path file;
  std::string workspace, subscription_id, resource_group;
  std::string server;
  std::filesystem::path token_file;
};
// In `folder` or the nearest parent: .azureml/config.json, config.json, aml_config/config.json. Files without a
// "workspace_name" are somebody else's and are passed over.
std::optional<WorkspaceConfig> find_workspace_config(const std::filesystem::path& folder);
std::string workspace_config_text(const WorkspaceConfig& config);

struct Settings {
  std::filesystem::path state;
  std::string server;  // empty: server.json in the state folder tells
  std::filesystem::path token_file;
  std::string workspace = "default";
  std::optional<WorkspaceConfig> config;
  bool json = false;  // -o json
  net::Packing packing = net::Packing::automatic;
};
base::Result<Settings> make_settings(const Arguments& arguments, const Surroundings& surroundings);

// What a running server wrote into its state folder.
struct ServerFile {
  std::string url, socket, version;
  std::int64_t pid = 0;
};
base::Result<ServerFile> read_server_file(const std::filesystem::path& state);

// The address to connect to, read anew each time: a restarted server may have another port. The Unix socket is
// preferred.
base::Result<net::ClientConfig> locate_server(const Settings& settings);

}  // namespace lathe::cli

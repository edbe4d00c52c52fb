#include "cli/call.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::array kArguments{
    Argument{.name = "NAME", .help = "the workspace's name (default 'default')", .required = false}};
constexpr std::array kOptions{
    Option{.name = "subscription-id", .value = "ID", .help = "kept for scripts that read it", .fallback = "zeros"},
    Option{.name = "resource-group", .value = "NAME", .help = "kept for scripts that read it", .fallback = "lathe"},
};
constexpr std::array kExamples{Example{"lathe workspace init myworkspace", "create it, and let this folder use it"}};

base::Result<int> init(Call& call) {
  const auto& typed = call.arguments;
  WorkspaceConfig config;
  config.workspace = call.argument_or(0, typed.value_or("workspace", "default"));
  json::object body;
  if (auto id = typed.find("subscription-id")) body["subscription_id"] = *id;
  if (auto group = typed.find("resource-group")) body["resource_group"] = *group;
  LATHE_TRY(auto text, call.api().send("PUT", api_path({"workspaces", config.workspace}), json::serialize(body)));
  LATHE_TRY(auto value, parse_json(text, "the server's answer"));
  config.subscription_id = text_at(value, "/subscription_id");
  config.resource_group = text_at(value, "/resource_group");
  config.token_file = call.settings.token_file;
  config.server = call.settings.server;
  if (config.server.empty()) {
    LATHE_TRY(auto server, read_server_file(call.settings.state));
    config.server = server.url;
  }
  config.file = fs::current_path() / ".azureml/config.json";
  std::error_code error;
  fs::create_directories(config.file.parent_path(), error);
  if (error) return base::fail(base::errno_error(error.value(), config.file.parent_path().string()));
  LATHE_TRY_VOID(replace_file(config.file, workspace_config_text(config)));
  say("wrote {}", config.file.string());
  write_data(call.settings.json ? pretty_json(value) : config.workspace + "\n");
  return 0;
}

}  // namespace

constinit const Command kWorkspaceInit{
    .path = "workspace init",
    .summary = "Create a workspace, or find it, and write .azureml/config.json here",
    .details =
        "The file names the server and the file with the token, never the token itself. It is the config.json that\n"
        "Workspace.from_config() reads.",
    .options = kOptions,
    .arguments = kArguments,
    .examples = kExamples,
    .run = init};

}  // namespace lathe::cli

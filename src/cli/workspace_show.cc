#include "cli/call.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kFields{Column{"workspace", "/name"}, Column{"subscription", "/subscription_id"},
                             Column{"resource group", "/resource_group"}, Column{"created", "/created", Shown::time}};

base::Result<int> show(Call& call) {
  LATHE_TRY(auto text, call.api().get(api_path({"workspaces", call.settings.workspace})));
  if (call.settings.config) say("from {}", call.settings.config->file.string());
  return call.print_one(text, kFields);
}

}  // namespace

constinit const Command kWorkspaceShow{
    .path = "workspace show", .summary = "Show the workspace of this folder", .run = show};

}  // namespace lathe::cli

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "NAME", .help = "the target's name"}};

base::Result<int> remove(Call& call) {
  LATHE_TRY_VOID(call.api().send("DELETE", call.workspace_path({"computes", call.argument(0)})));
  say("deleted {}", call.argument(0));
  return 0;
}

}  // namespace

constinit const Command kComputeDelete{.path = "compute delete",
                                       .summary = "Delete a compute target that no run uses",
                                       .arguments = kArguments,
                                       .run = remove};

}  // namespace lathe::cli

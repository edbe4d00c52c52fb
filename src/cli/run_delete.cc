#include "cli/call.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "RUN", .help = "the run's id", .repeated = true}};

base::Result<int> remove(Call& call) {
  for (const auto& run : call.arguments.positionals) {
    LATHE_TRY_VOID(call.api().send("DELETE", call.workspace_path({"runs", run})));
    say("deleted {}", run);
  }
  return 0;
}

}  // namespace

constinit const Command kRunDelete{.path = "run delete",
                                   .summary = "Delete ended runs with their logs and files",
                                   .details = "Bytes that nothing else names are freed by the next `lathe store gc`.",
                                   .arguments = kArguments,
                                   .run = remove};

}  // namespace lathe::cli

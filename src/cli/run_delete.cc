#include "cli/call.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "RUN", .help = "the run's id", .repeated = true}};

constexpr std::array kOptions{Option{.name = "recursive", .help = "delete its children and theirs, too"}};

base::Result<int> remove(Call& call) {
  const std::string query = call.arguments.has("recursive") ? "?recursive=true" : "";
  for (const auto& run : call.arguments.positionals) {
    LATHE_TRY_VOID(call.api().send("DELETE", call.workspace_path({"runs", run}) + query));
    say("deleted {}", run);
  }
  return 0;
}

}  // namespace

constinit const Command kRunDelete{.path = "run delete",
                                   .summary = "Delete ended runs with their logs, metrics and files",
                                   .details = "Bytes that nothing else names are freed by the next `lathe store gc`.",
                                   .options = kOptions,
                                   .arguments = kArguments,
                                   .run = remove};

}  // namespace lathe::cli

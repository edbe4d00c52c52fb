#include "cli/call.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "RUN", .help = "the run's id", .repeated = true}};
constexpr std::array kFields{Column{"run", "/id"}, Column{"status", "/status"}};

base::Result<int> cancel(Call& call) {
  for (const auto& run : call.arguments.positionals) {
    LATHE_TRY(auto text, call.api().send("POST", call.workspace_path({"runs", run, "cancel"}), "{}"));
    LATHE_TRY_VOID(call.print_one(text, kFields));
  }
  return 0;
}

}  // namespace

constinit const Command kRunCancel{.path = "run cancel",
                                   .summary = "Cancel runs; their process trees are ended and their outputs kept",
                                   .arguments = kArguments,
                                   .run = cancel};

}  // namespace lathe::cli

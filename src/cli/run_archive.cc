#include "cli/call.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "RUN", .help = "the run's id", .repeated = true}};
constexpr std::array kOptions{Option{.name = "undo", .help = "show the run in lists again"}};
constexpr std::array kFields{Column{"run", "/id"}, Column{"archived", "/archived"}};

base::Result<int> archive(Call& call) {
  std::string_view body = call.arguments.has("undo") ? R"({"archived":false})" : R"({"archived":true})";
  for (const auto& run : call.arguments.positionals) {
    LATHE_TRY(auto text, call.api().send("POST", call.workspace_path({"runs", run, "archive"}), body));
    LATHE_TRY_VOID(call.print_one(text, kFields));
  }
  return 0;
}

}  // namespace

constinit const Command kRunArchive{.path = "run archive",
                                    .summary = "Hide runs from lists; nothing is deleted",
                                    .options = kOptions,
                                    .arguments = kArguments,
                                    .run = archive};

}  // namespace lathe::cli

#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "RUN", .help = "the run's id"}};
constexpr std::array kColumns{Column{"PATH", "/path"}, Column{"SIZE", "/size", Shown::bytes}, Column{"KIND", "/kind"}};

base::Result<int> files(Call& call) {
  return call.print_list(call.workspace_path({"runs", call.argument(0), "files"}), kColumns);
}

}  // namespace

constinit const Command kRunFiles{
    .path = "run files", .summary = "List the files of a run: logs and outputs", .arguments = kArguments, .run = files};

}  // namespace lathe::cli

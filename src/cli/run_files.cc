#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "RUN", .help = "the run's id"}};
constexpr std::array kColumns{
    Column{"PATH", "/path"}, Column{"SIZE", "/size", Shown::bytes}, Column{"KIND", "/kind"}};
constexpr std::int64_t kAll = 10'000'000;

base::Result<int> files(Call& call) {
  return call.print_list(call.workspace_path({"runs", call.argument(0), "files"}), kColumns, kAll);
}

}  // namespace

constinit const Command kRunFiles{.path = "run files",
                                  .summary = "List the files of a run: logs and outputs",
                                  .arguments = kArguments,
                                  .run = files};

}  // namespace lathe::cli

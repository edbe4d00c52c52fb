#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "NAME", .help = "the experiment's name"}};
constexpr std::array kFields{Column{"experiment", "/name"}, Column{"runs", "/run_count"},
                             Column{"created", "/created", Shown::time}, Column{"last run", "/last_run"}};

base::Result<int> show(Call& call) {
  LATHE_TRY(auto text, call.api().get(call.workspace_path({"experiments", call.argument(0)})));
  return call.print_one(text, kFields);
}

}  // namespace

constinit const Command kExperimentShow{
    .path = "experiment show", .summary = "Show an experiment", .arguments = kArguments, .run = show};

}  // namespace lathe::cli

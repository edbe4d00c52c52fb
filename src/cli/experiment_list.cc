#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kOptions{
    Option{.name = "limit", .letter = 'n', .value = "N", .help = "how many at most", .fallback = "50"}};
constexpr std::array kColumns{Column{"EXPERIMENT", "/name"}, Column{"RUNS", "/run_count"},
                              Column{"CREATED", "/created", Shown::time}, Column{"LAST RUN", "/last_run"}};

base::Result<int> list(Call& call) {
  LATHE_TRY(auto limit, call.arguments.number("limit", 50, 1, 1'000'000));
  return call.print_list(call.workspace_path({"experiments"}), kColumns, limit);
}

}  // namespace

constinit const Command kExperimentList{
    .path = "experiment list", .summary = "List the experiments", .options = kOptions, .run = list};

}  // namespace lathe::cli

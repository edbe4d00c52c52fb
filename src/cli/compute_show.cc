#include "cli/call.h"
#include "cli/commands.h"
#include "cli/compute_fields.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "NAME", .help = "the target's name"}};

base::Result<int> show(Call& call) {
  LATHE_TRY(auto text, call.api().get(call.workspace_path({"computes", call.argument(0)})));
  return call.print_one(text, kComputeFields);
}

}  // namespace

constinit const Command kComputeShow{.path = "compute show",
                                     .summary = "Show a compute target: its nodes, its queue, what was cut to fit",
                                     .arguments = kArguments,
                                     .run = show};

}  // namespace lathe::cli

#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kColumns{
    Column{"COMPUTE", "/name"},    Column{"PROVIDER", "/provider"}, Column{"SIZE", "/vm_size"},
    Column{"MIN", "/min_nodes"},   Column{"MAX", "/max_nodes"},     Column{"RUNNING", "/nodes/running"},
    Column{"IDLE", "/nodes/idle"}, Column{"QUEUED", "/queue"},      Column{"PRIORITY", "/priority"},
};

base::Result<int> list(Call& call) { return call.print_list(call.workspace_path({"computes"}), kColumns); }

}  // namespace

constinit const Command kComputeList{.path = "compute list", .summary = "List the compute targets", .run = list};

}  // namespace lathe::cli

#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "RUN", .help = "the run's id"}};
constexpr std::array kFields{
    Column{"run", "/id"},
    Column{"status", "/status"},
    Column{"waits because", "/waiting/reason"},
    Column{"starts when", "/waiting/would_start_when"},
    Column{"error", "/error/message"},
    Column{"experiment", "/experiment"},
    Column{"compute", "/compute"},
    Column{"nodes", "/node_count"},
    Column{"attempt", "/attempt"},
    Column{"created", "/created", Shown::time},
    Column{"started", "/started", Shown::time},
    Column{"ended", "/ended", Shown::time},
    Column{"CPU seconds", "/usage/cpu_seconds"},
    Column{"peak memory", "/usage/peak_memory_bytes", Shown::bytes},
    Column{"peak GPU memory", "/usage/peak_gpu_memory_bytes", Shown::bytes},
    Column{"environment", "/environment/name"},
    Column{"lock", "/environment/lock"},
    Column{"notes", "/notes", Shown::list},
    Column{"tags", "/tags"},
    Column{"snapshot", "/snapshot"},
    Column{"submitted by", "/submitted_by"},
};

base::Result<int> show(Call& call) {
  LATHE_TRY(auto text, call.api().get(call.workspace_path({"runs", call.argument(0)})));
  return call.print_one(text, kFields);
}

}  // namespace

constinit const Command kRunShow{.path = "run show",
                                 .summary = "Show one run: how it stands, why it waits, what it used",
                                 .arguments = kArguments,
                                 .run = show};

}  // namespace lathe::cli

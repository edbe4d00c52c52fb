#include "cli/call.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/run_watch.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "RUN", .help = "the run's id"}};
constexpr std::array kOptions{Option{.name = "quiet", .letter = 'q', .help = "do not tell the moves"}};
constexpr std::array kFields{Column{"run", "/id"}, Column{"status", "/status"}, Column{"error", "/error/message"}};

base::Result<int> wait(Call& call) {
  auto run = run_place(call, call.argument(0));
  auto lookup = call.new_client();
  InterruptGuard guard({&call.api(), lookup.get()});
  bool quiet = call.arguments.has("quiet");
  auto status = watch_run(call.api(), run, [&](const RunMove& move) {
    if (!quiet) say("{}", describe_move(move, *lookup, run));
  });
  if (!status && status.error().code() == base::Code::cancelled) return say_run_goes_on(run.id);
  if (!status) return base::fail(std::move(status).error());
  LATHE_TRY(auto text, call.api().get(run.path));
  LATHE_TRY_VOID(call.print_one(text, kFields));
  return exit_for_run(*status);
}

}  // namespace

constinit const Command kRunWait{
    .path = "run wait",
    .summary = "Wait until a run is over",
    .details =
        "Exit status 0 when it Completed, 20 when it Failed, 21 when it was Canceled. Ctrl-C leaves the run alone.",
    .options = kOptions,
    .arguments = kArguments,
    .run = wait};

}  // namespace lathe::cli

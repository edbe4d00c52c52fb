#include <algorithm>

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/runs_watch.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "RUN", .help = "the run's id", .repeated = true}};
constexpr std::array kOptions{Option{.name = "any", .help = "only until the first of the runs is over"},
                              Option{.name = "quiet", .letter = 'q', .help = "do not tell the moves"}};
constexpr std::array kExamples{
    Example{"lathe run wait first_1550603179_109029bb second_1550603180_7c1d2e3f", "until both are over"}};
constexpr std::array kFields{Column{"run", "/id"}, Column{"status", "/status"}, Column{"error", "/error/message"}};

std::vector<RunPlace> places(const Call& call) {
  std::vector<RunPlace> runs;
  for (const auto& id : call.arguments.positionals)
    if (std::ranges::find(runs, id, &RunPlace::id) == runs.end()) runs.push_back(run_place(call, id));
  return runs;
}

// Those that are over, in the order in which they were named.
base::Result<void> print_ended(Call& call, std::span<const RunPlace> runs, std::span<const std::string> statuses) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (statuses[i].empty()) continue;
    LATHE_TRY(auto text, call.api().get(runs[i].path));
    LATHE_TRY_VOID(call.print_one(text, kFields));
  }
  return {};
}

base::Result<int> wait(Call& call) {
  const auto runs = places(call);
  auto lookup = call.new_client();
  InterruptGuard guard({&call.api(), lookup.get()});
  const bool quiet = call.arguments.has("quiet");
  auto tell = [&](const RunPlace& run, const RunMove& move) {
    if (quiet) return;
    auto text = describe_move(move, *lookup, run);
    say("{}", runs.size() > 1 ? fmt::format("{}: {}", run.id, text) : text);
  };
  const auto wait_for = call.arguments.has("any") ? WaitFor::any : WaitFor::all;
  auto statuses = watch_runs(call.api(), *lookup, runs, wait_for, tell);
  if (!statuses && statuses.error().code() == base::Code::cancelled)
    return say_run_goes_on(fmt::format("{}", fmt::join(call.arguments.positionals, " ")));
  if (!statuses) return base::fail(std::move(statuses).error());
  LATHE_TRY_VOID(print_ended(call, runs, *statuses));
  return exit_for_runs(*statuses);
}

}  // namespace

constinit const Command kRunWait{
    .path = "run wait",
    .summary = "Wait until runs are over",
    .details = "Exit status 0 when all of them Completed, 20 when one Failed, else 21 when one was Canceled. "
               "With --any the run that is over first decides. Ctrl-C leaves the runs alone.",
    .options = kOptions,
    .arguments = kArguments,
    .examples = kExamples,
    .run = wait};

}  // namespace lathe::cli

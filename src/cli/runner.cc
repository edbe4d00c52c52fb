#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kOptions{
    Option{.name = "url", .value = "URL", .help = "the server that the run belongs to"},
    Option{.name = "work", .value = "DIR", .help = "the folder to work in", .completes = Completes::folder},
    Option{.name = "adopt",
           .value = "SPOOL",
           .help = "deliver what a dead runner left in its spool",
           .completes = Completes::folder},
};

base::Result<int> run(Call& call) {
  const auto& typed = call.arguments;
  RunnerArgs args{
      .url = typed.value_or("url", ""), .work = typed.value_or("work", ""), .adopt = typed.value_or("adopt", "")};
  if (args.adopt.empty() && (args.url.empty() || args.work.empty()))
    return base::fail(base::Error(base::Code::invalid, "a runner needs --url and --work, or --adopt")
                          .hint("compute providers start runners; people use `lathe run submit`"));
  return call.programs.runner(args);
}

}  // namespace

constinit const Command kRunner{
    .path = "runner",
    .summary = "Run one node's part of a run; started by compute providers",
    .details = "The attempt's token comes in the variable LATHE_RUN_TOKEN, never as an argument.",
    .options = kOptions,
    .run = run};

}  // namespace lathe::cli

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/texts.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "SHELL", .help = "bash or zsh"}};
constexpr std::array kExamples{Example{"source <(lathe completion bash)", "completion in this shell"}};

base::Result<int> completion(Call& call) {
  const auto& shell = call.argument(0);
  if (shell != "bash" && shell != "zsh")
    return base::fail(base::Error(base::Code::unsupported, fmt::format("there is no completion for '{}'", shell))
                          .hint("bash and zsh are offered"));
  write_data(shell == "bash" ? bash_completion(call.catalogue) : zsh_completion(call.catalogue));
  return 0;
}

}  // namespace

constinit const Command kCompletion{.path = "completion",
                                    .summary = "Print a shell's completion script",
                                    .arguments = kArguments,
                                    .examples = kExamples,
                                    .run = completion};

}  // namespace lathe::cli

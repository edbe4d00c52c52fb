#include <string_view>

#include "cli/command_line.h"
#include "main/programs.h"

namespace {

int run(std::span<const char* const> words) {
  return lathe::cli::run_command_line(words, {.server = lathe::server_main, .runner = lathe::runner_main});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "fork-server") return lathe::fork_server_main(argc, argv, run);
  std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  return run(words.subspan(argc > 0 ? 1 : 0));
}

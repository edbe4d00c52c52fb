#include "cli/command_line.h"
#include "main/programs.h"

int main(int argc, char** argv) {
  const lathe::cli::Programs programs{.server = lathe::server_main, .runner = lathe::runner_main};
  std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  return lathe::cli::run_command_line(words.subspan(argc > 0 ? 1 : 0), programs);
}

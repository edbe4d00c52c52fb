// The long-running programs, each wired in its own file.
#pragma once

#include "cli/programs.h"

namespace lathe {

int server_main(const cli::ServerArgs& args);
int runner_main(const cli::RunnerArgs& args);

}  // namespace lathe

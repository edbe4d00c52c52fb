// The long-running programs, each wired in its own file.
#pragma once

#include <span>

#include "cli/programs.h"

namespace lathe {

int server_main(const cli::ServerArgs& args);
int runner_main(const cli::RunnerArgs& args);
// Not a command for people: the server starts it to get its runners from (sys/fork_server.h). `run` is the command
// line.
int fork_server_main(int argc, char** argv, int (*run)(std::span<const char* const>));

}  // namespace lathe

// The whole command line: words in, exit status out. Called by main with the programs that cli/ may not include.
#pragma once

#include <span>

#include "cli/programs.h"

namespace lathe::cli {

// `words` without the program's name.
int run_command_line(std::span<const char* const> words, const Programs& programs);

}  // namespace lathe::cli

// Help texts made from the command table.
#pragma once

#include <string>

#include "cli/command.h"

namespace lathe::cli {

// `lathe --help`
std::string overview_help(const Catalogue& catalogue);
// `lathe run --help`
std::string group_help(const Catalogue& catalogue, std::string_view group);
// `lathe run submit --help`
std::string command_help(const Catalogue& catalogue, const Command& command);
// "lathe run submit [options] RUN [-- ARGS…]"
std::string usage_line(const Command& command);
// "-o, --output json|table"
std::string option_form(const Option& option);
// The help sentence with its default: "how many runs (default 50)"
std::string option_sentence(const Option& option);

}  // namespace lathe::cli

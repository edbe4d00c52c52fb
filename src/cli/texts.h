// The other texts made from the command table: shell completions, the man page and the reference in docs/user/cli.md.
#pragma once

#include <string>

#include "cli/command.h"

namespace lathe::cli {

std::string bash_completion(const Catalogue& catalogue);
std::string zsh_completion(const Catalogue& catalogue);
// roff for section 1.
std::string man_page(const Catalogue& catalogue, std::string_view version);
// Markdown.
std::string reference_page(const Catalogue& catalogue);

}  // namespace lathe::cli

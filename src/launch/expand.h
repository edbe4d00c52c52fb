// Expansion of $NAME and ${NAME} in arguments, without a shell.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lathe::launch {

// `$$` is one `$`. A name without a value, and a `$` that starts no name, stay as they are: what is not ours to expand
// (a regular expression, a price) must reach the script unchanged.
std::string expand_variables(std::string_view text, const std::map<std::string, std::string>& variables);

}  // namespace lathe::launch

// The token of an attempt's script, made of its runner's. Server and runner make the same one, so that it travels nowhere;
// the way back from it to the runner's token does not exist.
#pragma once

#include <string>
#include <string_view>

namespace lathe::wire {

std::string script_token(std::string_view runner_token);

}  // namespace lathe::wire

// What some packages need, where uv cannot find it out (share/known_metadata.yaml).
#pragma once

#include <string>

namespace lathe::envs {

// As the text of a uv.toml.
std::string known_metadata();

}  // namespace lathe::envs

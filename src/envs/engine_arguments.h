// Arguments that a definition gives to the container engine (docker.arguments, docker.shm_size). They are passed on,
// except those that would take the run out of Lathe's hands: its name, user, network, folder, log and end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "envs/settings.h"

namespace lathe::envs {

// One text for each option, "--name=value", so that none of them can be taken for the image; `invalid` for one that is
// refused.
base::Result<std::vector<std::string>> engine_arguments(const std::vector<std::string>& given,
                                                        const std::string& shm_size);

// Whether they say which shared memory it is; else it is the node's.
bool wants_own_memory(const std::vector<std::string>& arguments);

// Whether it changes the container alone. What is not known to does not.
bool stays_inside(std::string_view argument);

// `forbidden` where the site allows none, or none that reaches the machine.
base::Result<void> check_allowed(const Settings& settings, const std::vector<std::string>& arguments);

}  // namespace lathe::envs

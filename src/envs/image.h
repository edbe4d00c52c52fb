// The image of an environment: from what a definition asks for to what a lock says, and from there to an image on this
// node. Blocking.
#pragma once

#include <stop_token>
#include <vector>

#include "envs/container_engine.h"
#include "envs/lock.h"
#include "envs/python_finder.h"
#include "envs/settings.h"
#include "sys/command.h"

namespace lathe::envs {

// Pulled or built when it is not here.
base::Result<LockedImage> lock_image_of(const ImageRequest& request, const Settings& settings, const LogSink& log,
                                        std::stop_token stop);
// Exactly the locked one, pulled or built when it is not here; an image that has become another one is refused.
base::Result<void> ensure_image(const LockedImage& image, const Settings& settings, const LogSink& log,
                                std::stop_token stop);

// A tool of ours (uv, Python), on the node or, where the settings name an image, inside of it: there it sees the cache,
// the program itself, certificates and folders of packages under their own paths.
base::Result<sys::CommandResult> run_tool(const Settings& settings, sys::CommandRequest request,
                                          const sys::LineSink& errors, std::stop_token stop);

// The Pythons that the image brings; nothing when it cannot be asked.
std::vector<Interpreter> interpreters_in_image(const Settings& settings);

}  // namespace lathe::envs

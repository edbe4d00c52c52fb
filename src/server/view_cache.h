// The views of the state folder as a cache: those that no run needs go first when room is wanted. Home thread.
#pragma once

#include "server/core.h"

namespace lathe::server {

// Removes the views that no run which is not over reads and that were not used for this long.
rt::Task<void> prune_views(Core& core, std::chrono::seconds unused);

}  // namespace lathe::server

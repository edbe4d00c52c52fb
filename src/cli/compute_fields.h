// What is shown of a compute target.
#pragma once

#include <array>

#include "cli/table.h"

namespace lathe::cli {

inline constexpr std::array kComputeFields{
    Column{"compute", "/name"},
    Column{"provider", "/provider"},
    Column{"size", "/vm_size"},
    Column{"priority", "/priority"},
    Column{"cores per node", "/node/cores"},
    Column{"memory per node", "/node/memory_bytes", Shown::bytes},
    Column{"GPUs per node", "/node/gpus"},
    Column{"min nodes", "/min_nodes"},
    Column{"max nodes", "/max_nodes"},
    Column{"idle seconds", "/idle_seconds"},
    Column{"nodes running", "/nodes/running"},
    Column{"nodes idle", "/nodes/idle"},
    Column{"runs queued", "/queue"},
    Column{"notes", "/notes", Shown::list},
};

}  // namespace lathe::cli

// Removing blobs that nothing names any more: on request, and when the state folder is over its budget.
#pragma once

#include "cas/gc.h"
#include "server/core.h"

namespace lathe::server {

// Everything the database names is a root. A blob without a root stays until its lease is over.
rt::Task<cas::GcReport> collect_store_garbage(Core& core, Caller caller, bool dry_run);

}  // namespace lathe::server

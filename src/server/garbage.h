// Removing blobs that nothing names any more: on request, and when the state folder is over its budget.
#pragma once

#include "cas/gc.h"
#include "server/core.h"

namespace lathe::server {

struct Collection {
  std::chrono::seconds lease;
  bool dry_run = false;
};

// Everything the database names is a root. A blob without a root stays until its lease is over.
rt::Task<cas::GcReport> collect_store_garbage(Core& core, Caller caller, Collection wanted);

}  // namespace lathe::server

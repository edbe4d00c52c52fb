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
// Error(conflict) while another collection is under way; `cancel` ends it early, which loses nothing.
rt::Task<cas::GcReport> collect_store_garbage(Core& core, Caller caller, Collection wanted,
                                              rt::CancelToken cancel = {});

}  // namespace lathe::server

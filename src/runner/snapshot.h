// Delivery of a snapshot into the run folder: the manifest and its files come from the server as one pack stream.
#pragma once

#include "runner/task.h"

namespace lathe::runner {

// A SnapshotDelivery.
base::Result<void> write_snapshot(ServerLink& link, const base::Digest& tree, const std::filesystem::path& folder,
                                  const std::function<base::Result<void>()>& keep_going);

}  // namespace lathe::runner

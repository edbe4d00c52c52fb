// Verifying a whole store: every blob is hashed anew; damaged ones are moved aside and listed.
#pragma once

#include "cas/disk_store.h"

namespace lathe::cas {

struct VerifyReport {
  std::uint64_t checked = 0, bytes = 0;
  std::vector<base::Digest> damaged;
};

// `progress` is called after each blob; false stops early with Error(cancelled).
base::Result<VerifyReport> verify_store(DiskStore& store,
                                        const std::function<bool(const VerifyReport&)>& progress = {});

}  // namespace lathe::cas

// Verifying a whole store: every blob is hashed anew; damaged ones are moved aside and listed.
#pragma once

#include "cas/disk_store.h"

namespace lathe::cas {

struct VerifyReport {
  std::uint64_t checked = 0, bytes = 0;
  std::vector<base::Digest> damaged;
};

// `go_on` is asked again and again, also within a large blob; false ends it with Error(cancelled).
base::Result<VerifyReport> verify_store(DiskStore& store, const GoOn& go_on = {});

}  // namespace lathe::cas

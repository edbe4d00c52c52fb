#include "cas/verify.h"

namespace lathe::cas {

base::Result<VerifyReport> verify_store(DiskStore& store, const GoOn& go_on) {
  VerifyReport report;
  LATHE_TRY_VOID(store.for_each_blob([&](const StoredBlob& blob) -> base::Result<void> {
    if (go_on && !go_on()) return base::fail(base::Code::cancelled, "verifying was stopped");
    auto size = store.verify(blob.info.digest, go_on);
    if (!size && size.error().code() == base::Code::not_found) return {};  // collected meanwhile
    if (!size && size.error().code() != base::Code::corrupt) return base::fail(std::move(size).error());
    ++report.checked;
    report.bytes += blob.info.size;
    if (!size) report.damaged.push_back(blob.info.digest);
    return {};
  }));
  return report;
}

}  // namespace lathe::cas

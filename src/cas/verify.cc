#include "cas/verify.h"

namespace lathe::cas {

base::Result<VerifyReport> verify_store(DiskStore& store, const std::function<bool(const VerifyReport&)>& progress) {
  VerifyReport report;
  LATHE_TRY_VOID(store.for_each_blob([&](const StoredBlob& blob) -> base::Result<void> {
    auto size = store.verify(blob.info.digest);
    if (!size && size.error().code() == base::Code::not_found) return {};  // collected meanwhile
    if (!size && size.error().code() != base::Code::corrupt) return base::fail(std::move(size).error());
    ++report.checked;
    report.bytes += blob.info.size;
    if (!size) report.damaged.push_back(blob.info.digest);
    if (progress && !progress(report)) return base::fail(base::Code::cancelled, "verifying was stopped");
    return {};
  }));
  return report;
}

}  // namespace lathe::cas

#include "cli/snapshot_upload.h"

#include "cas/snapshot.h"
#include "cas/stat_cache.h"
#include "cli/blob_upload.h"

namespace lathe::cli {

base::Result<UploadedSnapshot> upload_snapshot(ApiClient& api, const std::filesystem::path& folder) {
  cas::SnapshotOptions options;
  options.cache = cas::snapshot_cache_path(folder);
  LATHE_TRY(auto snapshot, cas::Snapshot::take(folder, options));
  LATHE_TRY(auto sent, upload_blobs(api, snapshot.blobs(), [&](const cas::BlobInfo& blob) { return snapshot.open(blob); }));
  return UploadedSnapshot{.digest = snapshot.manifest().digest,
                          .files = snapshot.stats().files,
                          .bytes = snapshot.stats().bytes,
                          .sent_bytes = sent.sent_bytes};
}

}  // namespace lathe::cli

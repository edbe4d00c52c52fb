#include "cli/snapshot_upload.h"

#include "cas/snapshot.h"
#include "cas/stat_cache.h"
#include "cli/blob_upload.h"
#include "cli/json.h"
#include "cli/local_staging.h"

namespace lathe::cli {
namespace {

// One short question before the long one: an unchanged folder is all there.
base::Result<bool> is_complete(ApiClient& api, const base::Digest& tree) {
  json::object question{{"digests", json::array()}, {"tree", tree.hex()}};
  LATHE_TRY(auto text, api.send("POST", api_path({"blobs", "missing"}), json::serialize(question)));
  LATHE_TRY(auto answer, parse_json(text, "the list of missing blobs"));
  return text_at(answer, "/complete") == "true";
}

}  // namespace

base::Result<UploadedSnapshot> upload_snapshot(ApiClient& api, const std::filesystem::path& folder) {
  cas::SnapshotOptions options;
  options.cache = cas::snapshot_cache_path(folder);
  LocalStaging local(api);
  options.choose_digester = [&](auto files, auto bytes) { return local.choose_digester(files, bytes); };
  LATHE_TRY(auto snapshot, cas::Snapshot::take(folder, options));
  UploadSummary sent;
  LATHE_TRY(bool complete, is_complete(api, snapshot.manifest().digest));
  if (!complete) {
    auto open = [&](const cas::BlobInfo& blob) { return snapshot.open(blob); };
    const auto blobs = snapshot.blobs();
    auto shortcut = local.send(blobs, open);
    if (!shortcut) {
      LATHE_TRY(shortcut, upload_blobs(api, blobs, open));
    }
    sent = *shortcut;
  }
  return UploadedSnapshot{.digest = snapshot.manifest().digest,
                          .files = snapshot.stats().files,
                          .bytes = snapshot.stats().bytes,
                          .sent_bytes = sent.sent_bytes};
}

}  // namespace lathe::cli

// LocalStaging: the local shortcut around upload_blobs(). On the server's own machine, over its Unix socket and as its
// own user, files are copied straight into a folder of the store, each read once, and only their digests are sent.
// Where that cannot be (another machine, user or container, a full disk), it is simply not usable and everything goes
// through upload_blobs(). Main thread, but for the digester.
#pragma once

#include <atomic>
#include <memory>

#include "cas/snapshot.h"
#include "cas/staging_writer.h"
#include "cli/blob_upload.h"

namespace lathe::cli {

class LocalStaging {
 public:
  explicit LocalStaging(ApiClient& api) : api_(api) {}

  // For SnapshotOptions::choose_digester: copies while it hashes when so much is to be read that this pays.
  cas::FileDigester choose_digester(std::uint64_t files, std::uint64_t bytes);
  // As upload_blobs(); nothing when the shortcut cannot be taken.
  std::optional<UploadSummary> send(const std::vector<cas::BlobInfo>& blobs, const cas::BlobOpener& open);

 private:
  bool begin();
  bool is_usable() const { return writer_ && !failed_; }
  base::Result<base::Digest> take(int fd, std::uint64_t size);
  base::Result<void> stage(const std::vector<cas::BlobInfo>& blobs, const cas::BlobOpener& open);
  base::Result<UploadSummary> commit(const std::vector<cas::BlobInfo>& blobs);
  void give_up(const base::Error& why);

  ApiClient& api_;
  std::string id_;
  std::unique_ptr<cas::StagingWriter> writer_;
  std::atomic<bool> failed_ = false;
};

}  // namespace lathe::cli

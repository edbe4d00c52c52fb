// PartialUploads: large blobs that arrive in pieces, over broken connections and server restarts. The bytes so far lie
// in partial/<place>, where the place is the digest unless the caller keeps uploads of the same blob apart. One Upload at
// a time per place; Uploads of different places are independent. Thread-safe.
// What an earlier process began is written to a new file when it is complete: its last sync may have failed.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_set>

#include "cas/disk_store.h"

namespace lathe::cas {

class PartialUploads {
 public:
  // One connection's turn at a blob. Destroying it keeps what has arrived.
  class Upload {
   public:
    Upload(PartialUploads& owner, const BlobInfo& blob, const base::Digest& place, sys::File file,
           std::uint64_t length);
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    std::uint64_t length() const { return length_; }
    // Error(conflict) with field "offset" unless `offset` is length(); too_large past the blob's size.
    base::Result<void> append(std::uint64_t offset, std::string_view bytes);
    bool is_complete() const { return length_ == blob_.size; }
    // What has arrived is on disk when this returns; call it before telling the client its offset.
    base::Result<void> checkpoint();
    // Verifies and commits. When the bytes are wrong they are dropped, Error(corrupt), and the upload starts anew.
    base::Result<BlobInfo> complete();

   private:
    PartialUploads& owner_;
    const BlobInfo blob_;
    const base::Digest place_;
    sys::File file_;
    std::uint64_t length_;
  };

  explicit PartialUploads(DiskStore& store);
  // Bytes that are already here; 0 when none.
  std::uint64_t length(const base::Digest& place) const;
  // Error(unavailable) while another connection is uploading the same blob.
  base::Result<std::unique_ptr<Upload>> open(const BlobInfo& blob) { return open(blob, blob.digest); }
  base::Result<std::unique_ptr<Upload>> open(const BlobInfo& blob, const base::Digest& place);

 private:
  DiskStore& store_;
  std::mutex mutex_;
  std::unordered_set<base::Digest> open_;            // places
  const std::unordered_set<std::string> inherited_;  // names in partial/ when this process began
};

}  // namespace lathe::cas

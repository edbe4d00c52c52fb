// DiskBatch: blobs staged as files in tmp/, handed to the Committer as one. Blobs that the store holds already are not
// written. A small blob waits in memory until it is complete, so that it costs one create and one write.
#pragma once

#include <unordered_set>

#include "cas/blob_store.h"
#include "cas/committer.h"
#include "cas/verified_blobs.h"

namespace lathe::cas {

class DiskStore;

// The blob between begin() and finish().
struct BlobStream {
  std::optional<base::Digest> expected;
  bool known = false;  // the store has it: check the bytes, write nothing
  base::Sha256 hash;
  std::uint64_t size = 0;
  std::string buffer;
  sys::File file;  // once the buffer was too small
  std::string path;
};

class DiskBatch final : public Batch {
 public:
  explicit DiskBatch(DiskStore& store) : store_(store) {}
  ~DiskBatch() override;

  base::Result<BlobInfo> put(std::string_view bytes) override;
  base::Result<void> begin(std::optional<base::Digest> expected) override;
  base::Result<void> write(std::string_view bytes) override;
  base::Result<BlobInfo> finish() override;
  using Batch::adopt;
  base::Result<BlobInfo> adopt(int fd, const std::filesystem::path& path, Adopt how) override;
  base::Result<void> commit() override;

 private:
  bool is_known(const base::Digest& digest);
  base::Result<void> spill();
  base::Result<void> stage(const BlobInfo& info, std::string_view bytes);
  base::Result<void> stage_link(const BlobInfo& info, int fd, const FileIdentity& hashed);

  DiskStore& store_;
  std::optional<BlobStream> stream_;
  std::string spare_;  // the last stream's buffer, kept for the next
  std::vector<StagedBlob> staged_;
  std::unordered_set<base::Digest> digests_;
  std::vector<std::pair<base::Digest, FileIdentity>> linked_;  // as they were when their bytes had been hashed
};

}  // namespace lathe::cas

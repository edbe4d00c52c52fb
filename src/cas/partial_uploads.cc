#include "cas/partial_uploads.h"

#include <sys/stat.h>

#include "base/check.h"
#include "cas/blob_file.h"
#include "cas/folder_listing.h"

namespace lathe::cas {
namespace {

std::unordered_set<std::string> names_in(const std::string& folder) {
  auto names = list_folder(folder);
  if (!names) return {};
  return {names->begin(), names->end()};
}

}  // namespace

PartialUploads::PartialUploads(DiskStore& store) : store_(store), inherited_(names_in(store.layout().partial())) {}

std::uint64_t PartialUploads::length(const base::Digest& place) const {
  struct stat st{};
  if (::stat(store_.layout().partial(place).c_str(), &st) != 0) return 0;
  return static_cast<std::uint64_t>(st.st_size);
}

base::Result<std::unique_ptr<PartialUploads::Upload>> PartialUploads::open(const BlobInfo& blob,
                                                                              const base::Digest& place) {
  {
    std::lock_guard lock(mutex_);
    if (!open_.insert(place).second)
      return base::fail(
          base::Error(base::Code::unavailable,
                      fmt::format("the blob {} is being uploaded by another connection", blob.digest.hex()))
              .hint("try again in a moment; it may have arrived by then"));
  }
  auto open_file = [&]() -> base::Result<std::unique_ptr<Upload>> {
    LATHE_TRY(auto file, store_.files().open_or_create(store_.layout().partial(place), 0600));
    auto here = length(place);
    if (here > blob.size) {  // announced with another size before: these bytes cannot be of this blob
      LATHE_TRY_VOID(store_.files().truncate(file, 0));
      here = 0;
    }
    return std::make_unique<Upload>(*this, blob, place, std::move(file), here);
  };
  auto upload = open_file();
  if (!upload) {
    std::lock_guard lock(mutex_);
    open_.erase(place);
  }
  return upload;
}

PartialUploads::Upload::Upload(PartialUploads& owner, const BlobInfo& blob, const base::Digest& place, sys::File file,
                               std::uint64_t length)
    : owner_(owner), blob_(blob), place_(place), file_(std::move(file)), length_(length) {}

PartialUploads::Upload::~Upload() {
  std::lock_guard lock(owner_.mutex_);
  owner_.open_.erase(place_);
}

base::Result<void> PartialUploads::Upload::append(std::uint64_t offset, std::string_view bytes) {
  if (offset != length_)
    return base::fail(
        base::Error(base::Code::conflict, fmt::format("the upload goes on at byte {}, not {}", length_, offset))
            .field("offset"));
  if (bytes.size() > blob_.size - length_)
    return base::fail(base::Code::too_large, "more bytes than the {} announced for the blob {}", blob_.size,
                      blob_.digest.hex());
  LATHE_TRY_VOID(owner_.store_.files().write(file_, bytes, length_));
  length_ += bytes.size();
  owner_.store_.lease_clock().correct(file_.fd());
  return {};
}

base::Result<void> PartialUploads::Upload::checkpoint() {
  auto& store = owner_.store_;
  LATHE_TRY_VOID(store.files().sync_file(store.layout().partial(place_)));
  return store.files().sync_directory(store.layout().partial());
}

base::Result<BlobInfo> PartialUploads::Upload::complete() {
  LATHE_CHECK(is_complete(), "an upload has {} of {} bytes", length_, blob_.size);
  auto& store = owner_.store_;
  auto path = store.layout().partial(place_);
  LATHE_TRY(auto digest, hash_file(file_.fd(), blob_.size));
  if (digest != blob_.digest) {
    length_ = 0;
    LATHE_TRY_VOID(store.files().truncate(file_, 0));
    return base::fail(base::Error(base::Code::corrupt, fmt::format("the bytes uploaded as {} have the digest {}",
                                                                   blob_.digest.hex(), digest.hex()))
                          .hint("upload it again from the start"));
  }
  LATHE_TRY_VOID(store.committer().commit({StagedBlob{blob_, path, owner_.inherited_.contains(place_.hex())}}));
  // Only now: after a failed commit the upload must open again for writing.
  (void)::chmod(store.layout().blob(blob_.digest).c_str(), 0444);
  return blob_;
}

}  // namespace lathe::cas

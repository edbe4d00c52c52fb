#include "cas/disk_batch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/check.h"
#include "cas/blob_file.h"
#include "cas/disk_store.h"

namespace lathe::cas {
namespace {

constexpr std::size_t kBuffered = 1 << 20;
constexpr mode_t kBlobMode = 0444;

}  // namespace

DiskBatch::~DiskBatch() {
  for (const auto& blob : staged_) (void)store_.files().remove(blob.path);
  if (stream_ && stream_->file) (void)store_.files().remove(stream_->path);
}

bool DiskBatch::is_known(const base::Digest& digest) {
  return digests_.contains(digest) || store_.find(digest).has_value();
}

base::Result<BlobInfo> DiskBatch::put(std::string_view bytes) {
  BlobInfo info{base::sha256(bytes), bytes.size()};
  if (!is_known(info.digest)) LATHE_TRY_VOID(stage(info, bytes));
  return info;
}

base::Result<void> DiskBatch::begin(std::optional<base::Digest> expected) {
  LATHE_CHECK(!stream_, "begin() before finish()");
  stream_.emplace();
  stream_->expected = expected;
  stream_->known = expected && is_known(*expected);
  stream_->buffer = std::move(spare_);
  stream_->buffer.clear();
  return {};
}

base::Result<void> DiskBatch::write(std::string_view bytes) {
  LATHE_CHECK(stream_.has_value(), "write() before begin()");
  auto& stream = *stream_;
  stream.hash.update(bytes);
  stream.size += bytes.size();
  if (stream.known) return {};
  if (!stream.file && stream.buffer.size() + bytes.size() <= kBuffered) {
    stream.buffer += bytes;
    return {};
  }
  if (!stream.file) LATHE_TRY_VOID(spill());
  return store_.files().write(stream.file, bytes, stream.size - bytes.size());
}

base::Result<void> DiskBatch::spill() {
  auto& stream = *stream_;
  stream.path = store_.temporary_path();
  LATHE_TRY(stream.file, store_.files().create(stream.path, kBlobMode));
  return store_.files().write(stream.file, stream.buffer, 0);
}

base::Result<BlobInfo> DiskBatch::finish() {
  LATHE_CHECK(stream_.has_value(), "finish() before begin()");
  auto& stream = *stream_;
  BlobInfo info{stream.hash.finish(), stream.size};
  if (stream.expected && *stream.expected != info.digest)
    return base::fail(base::Code::corrupt, "the bytes sent for the blob {} have the digest {}", stream.expected->hex(),
                      info.digest.hex());
  if (stream.file) {
    store_.lease_clock().correct(stream.file.fd());
    stream.file.reset();
    staged_.push_back({info, stream.path});
    digests_.insert(info.digest);
  } else if (!stream.known && !is_known(info.digest)) {
    LATHE_TRY_VOID(stage(info, stream.buffer));
  }
  spare_ = std::move(stream.buffer);
  stream_.reset();
  return info;
}

base::Result<void> DiskBatch::stage(const BlobInfo& info, std::string_view bytes) {
  auto path = store_.temporary_path();
  LATHE_TRY(auto file, store_.files().create(path, kBlobMode));
  staged_.push_back({info, path});  // before the write, so that the destructor removes what a failed one left
  LATHE_TRY_VOID(store_.files().write(file, bytes, 0));
  store_.lease_clock().correct(file.fd());
  digests_.insert(info.digest);
  return {};
}

base::Result<BlobInfo> DiskBatch::adopt(int fd, const std::filesystem::path& path, Adopt how) {
  struct stat st{};
  if (::fstat(fd, &st) != 0)
    return base::fail(base::errno_error(errno, fmt::format("cannot look at {}", path.string())));
  if (!S_ISREG(st.st_mode)) return base::fail(base::Code::invalid, "{} is not a plain file", path.string());
  auto identity = FileIdentity::of(st);
  if (how == Adopt::link)
    ::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);  // a hint: the disk works while we hash; commit() makes sure
  LATHE_TRY(auto digest, hash_file(fd, identity.size));
  BlobInfo info{digest, identity.size};
  if (is_known(digest) || (how == Adopt::link && stage_link(info, fd, identity))) return info;
  LATHE_TRY_VOID(begin(digest));  // a file that changed since it was hashed is caught by its digest
  base::Result<void> copied;
  LATHE_TRY_VOID(read_pieces(fd, identity.size, [&](std::string_view bytes) {
    if (copied) copied = write(bytes);
  }));
  if (!copied) return base::fail(std::move(copied).error().during(fmt::format("copying {}", path.string())));
  return finish();
}

// The new name shares the file's bytes; read-only and with a fresh lease from here on.
base::Result<void> DiskBatch::stage_link(const BlobInfo& info, int fd, const FileIdentity& hashed) {
  auto path = store_.temporary_path();
  LATHE_TRY_VOID(store_.files().link(fd, path));
  struct stat st{};
  bool same = ::fstat(fd, &st) == 0 && FileIdentity::of(st) == hashed;
  if (!same || ::fchmod(fd, kBlobMode) != 0 || !store_.lease_clock().set(fd)) {
    (void)store_.files().remove(path);
    return base::fail(base::Code::conflict, "a file to adopt is not ours or changed meanwhile");
  }
  staged_.push_back({info, path});
  digests_.insert(info.digest);
  if (::fstat(fd, &st) == 0) linked_.push_back({info.digest, FileIdentity::of(st)});
  return {};
}

base::Result<void> DiskBatch::commit() {
  LATHE_CHECK(!stream_, "commit() before finish()");
  LATHE_TRY_VOID(store_.committer().commit(staged_));
  for (const auto& [digest, identity] : linked_) store_.note_verified(digest, identity);
  linked_.clear();
  staged_.clear();
  digests_.clear();
  return {};
}

}  // namespace lathe::cas

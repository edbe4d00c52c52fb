#include "cas/disk_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/log.h"
#include "base/strings.h"
#include "cas/blob_file.h"
#include "cas/disk_batch.h"
#include "cas/folder_listing.h"
#include "cas/staging_folders.h"

namespace lathe::cas {
namespace {

// Renewing is a metadata write. Far less than the shortest lease that a collector may use (an hour), so that what was
// said to be here stays long enough to be named.
constexpr std::int64_t kRenewAfterSeconds = 600;

constexpr std::uint64_t kQuicklyHashed = 8u << 20;  // some milliseconds

std::unexpected<base::Error> no_blob(const base::Digest& digest) {
  return base::fail(base::Code::not_found, "there is no blob {}", digest.hex());
}

std::optional<base::Digest> digest_of(std::string_view folder, std::string_view name) {
  auto digest = base::Digest::parse(fmt::format("{}{}", folder, name));
  return digest ? std::optional(*digest) : std::nullopt;
}

}  // namespace

DiskStore::DiskStore(std::string root, sys::FileSystem& files)
    : layout_(std::move(root)),
      files_(files, disk_watch_),
      committer_(layout_, files, disk_watch_, [this](const base::Digest& digest) {
        std::uint64_t size = 0;
        return find_and_renew(digest, size);
      }) {}

base::Result<std::unique_ptr<DiskStore>> DiskStore::open(const std::filesystem::path& root, sys::FileSystem& files) {
  std::unique_ptr<DiskStore> store(new DiskStore(root.string(), files));
  if (auto prepared = store->prepare_folders(); !prepared)
    return base::fail(std::move(prepared).error().during("opening the blob store"));
  return store;
}

base::Result<void> DiskStore::prepare_folders() {
  for (const auto& folder :
       {layout_.root(), layout_.blobs(), layout_.temporary(), layout_.partial(), layout_.damaged()})
    LATHE_TRY_VOID(files_.make_directory(folder, 0755));
  LATHE_TRY_VOID(files_.make_directory(layout_.staging(), 0700));
  for (int i = 0; i < 256; ++i)
    LATHE_TRY_VOID(files_.make_directory(fmt::format("{}/{:02x}", layout_.blobs(), i), 0755));
  LATHE_TRY(auto leftovers, list_folder(layout_.temporary()));
  for (const auto& name : leftovers) LATHE_TRY_VOID(files_.remove(layout_.temporary() + "/" + name));
  LATHE_TRY_VOID(remove_staging(layout_, Staging::every));  // nobody commits what an earlier process had offered
  lease_clock_.open(layout_.clock());
  // A process killed between rename and sync left names that a power cut could still take: from here on they are safe.
  return files_.sync_everything(layout_.root());
}

std::string DiskStore::temporary_path() { return fmt::format("{}/{}", layout_.temporary(), next_temporary_++); }

std::unique_ptr<Batch> DiskStore::begin_batch() { return std::make_unique<DiskBatch>(*this); }

bool DiskStore::find_and_renew(const base::Digest& digest, std::uint64_t& size) {
  auto path = layout_.blob(digest);
  std::lock_guard lock(lease_lock(digest));
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return false;
  size = static_cast<std::uint64_t>(st.st_size);
  if (lease_clock_.now().micros / 1'000'000 - st.st_mtim.tv_sec > kRenewAfterSeconds) {
    auto before = FileIdentity::of(st);
    if (lease_clock_.set(path) && ::stat(path.c_str(), &st) == 0) verified_.renew(digest, before, FileIdentity::of(st));
  }
  return true;
}

std::optional<std::uint64_t> DiskStore::find(const base::Digest& digest) {
  std::uint64_t size = 0;
  if (committer_.is_being_placed(digest) || !find_and_renew(digest, size)) return std::nullopt;
  return size;
}

base::Result<BlobFile> DiskStore::open(const base::Digest& digest) {
  int fd = ::open(layout_.blob(digest).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno == ENOENT) return no_blob(digest);
  if (fd < 0) return base::fail(base::errno_error(errno, fmt::format("cannot open the blob {}", digest.hex())));
  BlobFile unsized(fd, 0);
  struct stat st{};
  if (::fstat(fd, &st) != 0) return base::fail(base::errno_error(errno, "cannot look at a blob"));
  BlobFile file(unsized.release(), static_cast<std::uint64_t>(st.st_size));
  if (auto identity = FileIdentity::of(st); !verified_.contains(digest, identity)) {
    LATHE_TRY_VOID(verify_open(digest, file.fd(), file.size()));
    verified_.insert(digest, identity);
  }
  return file;
}

bool DiskStore::opens_quickly(const base::Digest& digest) {
  struct stat st{};
  if (::stat(layout_.blob(digest).c_str(), &st) != 0) return true;  // it is not there: that is told at once
  auto identity = FileIdentity::of(st);
  return identity.size <= kQuicklyHashed || verified_.contains(digest, identity);
}

base::Result<void> DiskStore::verify_open(const base::Digest& digest, int fd, std::uint64_t size, const GoOn& go_on) {
  LATHE_TRY(auto found, hash_file(fd, size, [&] { return !hashing_stopped_ && (!go_on || go_on()); }));
  if (found == digest) return {};
  move_aside(digest);
  return base::fail(base::Error(base::Code::corrupt, fmt::format("the blob {} is damaged on disk", digest.hex()))
                        .hint("it was moved to damaged/ in the store; upload it again, or restore it from a backup"));
}

void DiskStore::move_aside(const base::Digest& digest) {
  base::log::error("blob-damaged", {{"digest", digest.hex()}});
  std::lock_guard lock(lease_lock(digest));
  ++removals_;
  if (auto moved = files_.rename(layout_.blob(digest), layout_.damaged(digest)); !moved)
    base::log::error("blob-not-moved-aside", {{"digest", digest.hex()}, {"error", moved.error().text()}});
}

base::Result<std::string> DiskStore::read(const base::Digest& digest, std::uint64_t limit) {
  int fd = ::open(layout_.blob(digest).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return no_blob(digest);
  BlobFile file(fd, 0);
  struct stat st{};
  if (::fstat(fd, &st) != 0) return base::fail(base::errno_error(errno, "cannot look at a blob"));
  auto size = static_cast<std::uint64_t>(st.st_size);
  if (size > limit)
    return base::fail(base::Code::too_large, "the blob {} has {} bytes; at most {} can be read at once", digest.hex(),
                      size, limit);
  std::string bytes;
  bytes.reserve(size);
  LATHE_TRY_VOID(read_pieces(fd, size, [&](std::string_view piece) { bytes += piece; }));
  if (base::sha256(bytes) != digest) {
    move_aside(digest);
    return base::fail(base::Code::corrupt, "the blob {} is damaged on disk", digest.hex());
  }
  return bytes;
}

base::Result<std::uint64_t> DiskStore::verify(const base::Digest& digest, const GoOn& go_on) {
  int fd = ::open(layout_.blob(digest).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return no_blob(digest);
  BlobFile file(fd, 0);
  struct stat st{};
  if (::fstat(fd, &st) != 0) return base::fail(base::errno_error(errno, "cannot look at a blob"));
  auto size = static_cast<std::uint64_t>(st.st_size);
  LATHE_TRY_VOID(verify_open(digest, fd, size, go_on));
  return size;
}

base::Result<ChunkIndex> DiskStore::chunk_index(const base::Digest& digest) {
  LATHE_TRY(auto blob, open(digest));
  auto path = layout_.chunks(digest);
  if (std::ifstream in(path, std::ios::binary); in) {
    std::string kept{std::istreambuf_iterator<char>(in), {}};
    if (auto index = ChunkIndex::decode(kept, blob.size())) return index;
  }
  ChunkHasher hasher;
  LATHE_TRY_VOID(read_pieces(blob.fd(), blob.size(), [&](std::string_view bytes) { hasher.update(bytes); }));
  auto index = hasher.finish();
  if (index.blob_size < ChunkIndex::kLargeBlob) return index;
  if (auto kept = keep_chunk_index(index, path); !kept)  // on a full disk it is simply made again next time
    base::log::warn("chunk-index-not-kept", {{"digest", digest.hex()}, {"error", kept.error().text()}});
  return index;
}

// Not synced: what a power cut tears, its checksum tells.
base::Result<void> DiskStore::keep_chunk_index(const ChunkIndex& index, const std::string& path) {
  auto temporary = temporary_path();
  LATHE_TRY(auto file, files_.create(temporary, 0444));
  auto written = files_.write(file, index.encode(), 0);
  if (written) written = files_.rename(temporary, path);
  if (!written) (void)files_.remove(temporary);
  return written;
}

base::UtcTime DiskStore::expired_before(std::chrono::seconds lease) const {
  auto expired = lease_clock_.now().micros - std::chrono::microseconds(lease).count();
  // What a hold protects may have been found with a lease that was just not old enough to be renewed.
  if (auto earliest = holds_.earliest())
    expired = std::min(expired, earliest->micros - 2 * kRenewAfterSeconds * 1'000'000);
  return {expired};
}

base::Result<bool> DiskStore::remove_if_unleased(const base::Digest& digest, base::UtcTime expired_before) {
  auto path = layout_.blob(digest);
  std::lock_guard lock(lease_lock(digest));
  struct stat st{};
  if (committer_.is_being_placed(digest) || ::stat(path.c_str(), &st) != 0) return false;
  if (FileIdentity::of(st).modified_ns / 1000 >= expired_before.micros) return false;
  ++removals_;
  LATHE_TRY_VOID(files_.remove(path));
  if (auto chunks = layout_.chunks(digest); ::access(chunks.c_str(), F_OK) == 0) LATHE_TRY_VOID(files_.remove(chunks));
  return true;
}

base::Result<void> DiskStore::for_each_blob(const std::function<base::Result<void>(const StoredBlob&)>& visit) const {
  for (int i = 0; i < 256; ++i) {
    auto folder = fmt::format("{:02x}", i);
    LATHE_TRY(auto names, list_folder(layout_.blobs() + "/" + folder));
    for (const auto& name : names) {
      auto digest = digest_of(folder, name);
      struct stat st{};
      if (!digest || ::stat(layout_.blob(*digest).c_str(), &st) != 0) continue;
      auto identity = FileIdentity::of(st);
      LATHE_TRY_VOID(visit({{*digest, identity.size}, {identity.modified_ns / 1000}}));
    }
  }
  return {};
}

base::Result<StoreStats> DiskStore::stats() const {
  StoreStats stats;
  LATHE_TRY_VOID(for_each_blob([&](const StoredBlob& blob) -> base::Result<void> {
    ++stats.blobs;
    stats.bytes += blob.info.size;
    return {};
  }));
  LATHE_TRY(auto partials, list_folder(layout_.partial()));
  for (const auto& name : partials) {
    struct stat st{};
    if (::stat((layout_.partial() + "/" + name).c_str(), &st) != 0) continue;
    ++stats.partial_uploads;
    stats.partial_bytes += static_cast<std::uint64_t>(st.st_size);
  }
  stats.staged_bytes = staged_bytes(layout_);
  LATHE_TRY(auto damaged, list_folder(layout_.damaged()));
  stats.damaged = damaged.size();
  return stats;
}

}  // namespace lathe::cas

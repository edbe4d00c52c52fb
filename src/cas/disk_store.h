// DiskStore: the BlobStore on a folder (docs/formats/store.md). One process at a time may have the folder open (the
// server's state lock sees to it); inside it everything is thread-safe and blocking.
//
// What is visible is durable: opening syncs what an earlier process left, a commit hides its blobs until they are on
// disk. No wrong bytes are served: open() hashes each blob the first time in this process, read() every time; a blob
// that does not match its name is moved to damaged/ and reported as Error(corrupt), so that the next upload of it heals
// the store.
//
// After a failed sync nothing more is promised (sys::FailStop); on_disk_failure() tells the owner. The next process
// trusts no file that this one left unfinished: tmp/ and staging/ are emptied, partial uploads are written anew when
// they are complete.
#pragma once

#include <array>
#include <atomic>
#include <chrono>

#include "base/time.h"
#include "cas/blob_file.h"
#include "cas/blob_store.h"
#include "cas/chunk_index.h"
#include "cas/committer.h"
#include "cas/lease_clock.h"
#include "cas/store_layout.h"
#include "cas/verified_blobs.h"
#include "sys/fail_stop.h"
#include "sys/file_system.h"

namespace lathe::cas {

struct StoreStats {
  std::uint64_t blobs = 0, bytes = 0;
  std::uint64_t partial_uploads = 0, partial_bytes = 0;
  std::uint64_t staged_bytes = 0;  // copied into staging folders, not committed
  std::uint64_t damaged = 0;
};

struct StoredBlob {
  BlobInfo info;
  base::UtcTime leased_at;
};

class DiskStore final : public BlobStore {
 public:
  static base::Result<std::unique_ptr<DiskStore>> open(const std::filesystem::path& root,
                                                       sys::FileSystem& files = sys::linux_file_system());

  std::unique_ptr<Batch> begin_batch() override;
  std::optional<std::uint64_t> find(const base::Digest& digest) override;
  base::Result<BlobFile> open(const base::Digest& digest) override;
  base::Result<std::string> read(const base::Digest& digest, std::uint64_t limit) override;

  // The chunk digests of a large blob; made and kept beside it when first asked for. Smaller blobs have one chunk.
  base::Result<ChunkIndex> chunk_index(const base::Digest& digest);

  // Whether open() answers without hashing a large file first.
  bool opens_quickly(const base::Digest& digest);
  // Hashing for open() and verify() ends with Error(cancelled) from now on: the process is about to end.
  void stop_hashing() { hashing_stopped_ = true; }

  // Hashes the blob now, whatever was verified before; Error(corrupt) after moving it aside, Error(cancelled) when
  // `go_on` said no.
  base::Result<std::uint64_t> verify(const base::Digest& digest, const GoOn& go_on = {});
  // Removes the blob unless its lease was renewed at or after `expired_before`; whether it did. For the collector.
  base::Result<bool> remove_if_unleased(const base::Digest& digest, base::UtcTime expired_before);

  // Changes whenever a blob has left the store: what was known to be here may not be.
  std::uint64_t removals() const { return removals_; }

  // In the order of the folders; blobs that come and go meanwhile may or may not be seen.
  base::Result<void> for_each_blob(const std::function<base::Result<void>(const StoredBlob&)>& visit) const;
  base::Result<StoreStats> stats() const;

  // Leases are given and compared by this clock, never by the wall clock.
  const LeaseClock& lease_clock() const { return lease_clock_; }
  // As long as it lives, no blob that was found or committed since it was taken is collected: for work that takes
  // longer than a lease before it can store its references.
  std::unique_ptr<LeaseHold> hold_leases() { return std::make_unique<LeaseHold>(holds_, lease_clock_.now()); }
  // What the collector may take for expired. Asked for before the roots are read: whoever stores a reference later has
  // a lease or a hold now.
  base::UtcTime expired_before(std::chrono::seconds lease) const;

  // Called once, on the thread that met it, when the disk refused a sync of this store.
  void on_disk_failure(sys::FailStop::Callback callback) { disk_watch_.on_failure(std::move(callback)); }

  const StoreLayout& layout() const { return layout_; }
  // Its syncs are watched: one that the disk refuses is the store's last.
  sys::FileSystem& files() { return files_; }
  Committer& committer() { return committer_; }
  // This file, as it is, was hashed a moment ago: opening it need not hash it again.
  void note_verified(const base::Digest& digest, const FileIdentity& identity) { verified_.insert(digest, identity); }
  // A name in tmp/ that nobody else uses.
  std::string temporary_path();

 private:
  DiskStore(std::string root, sys::FileSystem& files);
  base::Result<void> prepare_folders();
  bool find_and_renew(const base::Digest& digest, std::uint64_t& size);
  base::Result<void> verify_open(const base::Digest& digest, int fd, std::uint64_t size, const GoOn& go_on = {});
  void move_aside(const base::Digest& digest);
  base::Result<void> keep_chunk_index(const ChunkIndex& index, const std::string& path);
  std::mutex& lease_lock(const base::Digest& digest) { return lease_locks_[digest.bytes[0] % lease_locks_.size()]; }

  const StoreLayout layout_;
  sys::FailStop disk_watch_;
  sys::FailStopFileSystem files_;
  LeaseClock lease_clock_;
  LeaseHolds holds_;
  Committer committer_;
  VerifiedBlobs verified_{16'384};
  // Held while a lease is renewed or found expired, so that the collector cannot remove what was just promised.
  std::array<std::mutex, 64> lease_locks_;
  std::atomic<std::uint64_t> next_temporary_ = 0;
  std::atomic<std::uint64_t> removals_ = 0;
  std::atomic<bool> hashing_stopped_ = false;
};

}  // namespace lathe::cas

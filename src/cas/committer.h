// Committer: makes staged files durable and visible as blobs. Commits that wait at the same time share one round, so
// that many small ones cost what one does. The thread that finds nobody leading leads the round; no thread of its own.
// Thread-safe. A round fails as a whole; then none of its blobs is visible and the staged files are the callers' again.
// A blob that the disk would neither keep nor give back is stuck: nobody sees it, and commits of it fail, until the
// store is opened again.
//
// A sync that failed is never simply repeated, since the kernel tells of lost pages once and then calls them clean:
// - the disk failed (Error io): the store's FailStop is told, which ends the server; no later commit succeeds.
// - the disk is full (no_space): the file is remembered by its inode, and when it is to be committed again, by
//   whatever name, its bytes are first written to a new file. The same goes for a file that may have been through such
//   a failure in an earlier process, as its owner says (StagedBlob::rewrite).
#pragma once

#include <condition_variable>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "cas/blob_store.h"
#include "cas/store_layout.h"
#include "sys/fail_stop.h"
#include "sys/file_system.h"

namespace lathe::cas {

struct StagedBlob {
  BlobInfo info;
  std::string path;      // a complete file in the store's own file system
  bool rewrite = false;  // its bytes go into a new file before they are trusted
};

class Committer {
 public:
  // Up to this many files are synced one by one; past it one sync of the whole file system costs less.
  static constexpr std::size_t kFewFiles = 8;

  // Says whether a blob is visible and, if so, renews its lease.
  using Presence = std::function<bool(const base::Digest&)>;

  // `files` itself, not one that `watch` listens to: a failure is told after the round's names are taken back.
  Committer(const StoreLayout& layout, sys::FileSystem& files, sys::FailStop& watch, Presence present)
      : layout_(layout), files_(files), watch_(watch), present_(std::move(present)) {}

  // On success every staged file is gone: renamed into its place, or removed because its blob was there already.
  base::Result<void> commit(const std::vector<StagedBlob>& blobs);

  // Visible already but perhaps not yet durable: to everybody else such a blob is not there.
  bool is_being_placed(const base::Digest& digest) const;

  std::uint64_t rounds() const;
  std::size_t waiting() const;  // commits that the next round will take

 private:
  struct Waiting {
    const std::vector<StagedBlob>& blobs;
    std::optional<base::Result<void>> outcome;
  };
  bool has_stuck(const Waiting& waiting) const;
  base::Result<void> run_round(const std::vector<Waiting*>& group);
  base::Result<void> rewrite_doubtful(const std::vector<const StagedBlob*>& blobs);
  base::Result<void> rewrite(const StagedBlob& blob);
  base::Result<void> sync_bytes(const std::vector<const StagedBlob*>& blobs);
  base::Result<void> place(const std::vector<const StagedBlob*>& blobs);
  base::Result<void> sync_names(const std::vector<const StagedBlob*>& blobs);

  const StoreLayout& layout_;
  sys::FileSystem& files_;
  sys::FailStop& watch_;
  const Presence present_;

  mutable std::mutex mutex_;
  std::condition_variable round_over_;
  std::vector<Waiting*> queue_;
  bool leading_ = false;
  std::uint64_t rounds_ = 0;
  std::unordered_set<ino_t> doubtful_;  // files whose sync failed; used by the leader alone
  mutable std::mutex placing_mutex_;
  std::unordered_set<base::Digest> placing_;
};

}  // namespace lathe::cas

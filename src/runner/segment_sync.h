// SegmentSync: who syncs a segment of the log now. The kernel tells of a failed write-out to one sync only, and a
// server on this machine seals a segment by linking the very file: if the runner's own sync ran at the same time, it
// could be the one that hears of the failure while the server's succeeds and promises bytes that are gone. So no
// segment is synced while it is being sealed or the other way round, and after a failure no segment is linked any more.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace lathe::runner {

class SegmentSync {
 public:
  // Calls `sync`, which says whether it succeeded. False when the segment is being sealed: then the server syncs it, or
  // goes away over it, and somebody has to look again.
  template <class Sync>
  bool run(std::uint64_t segment, Sync sync) {
    {
      std::lock_guard lock(mutex_);
      if (sealing_ == segment) return false;
      syncing_ = segment;
    }
    const bool done = sync();
    {
      std::lock_guard lock(mutex_);
      syncing_.reset();
      failed_ |= !done;
    }
    changed_.notify_all();
    return true;
  }

  bool has_failed() const {
    std::lock_guard lock(mutex_);
    return failed_;
  }

  // From its making, which waits for a sync of this segment to end, to its end the segment is the server's to sync.
  class Sealing {
   public:
    Sealing(SegmentSync& owner, std::optional<std::uint64_t> segment) : owner_(owner) {
      std::unique_lock lock(owner_.mutex_);
      owner_.changed_.wait(lock, [&] { return !segment || owner_.syncing_ != segment; });
      owner_.sealing_ = segment;
    }
    ~Sealing() {
      std::lock_guard lock(owner_.mutex_);
      owner_.sealing_.reset();
    }
    Sealing(const Sealing&) = delete;
    Sealing& operator=(const Sealing&) = delete;

   private:
    SegmentSync& owner_;
  };

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::uint64_t> syncing_, sealing_;
  bool failed_ = false;
};

}  // namespace lathe::runner

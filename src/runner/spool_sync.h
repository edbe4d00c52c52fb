// SpoolSync: brings a spool to the disk while its run goes on, so that a power cut costs at most the last second of
// what a follower was shown: the header and the order once, the log whenever it has grown. No byte and no start waits
// for it: SyncThread does it beside the run, and only runs that live a while have one (a shorter run's log is in the
// server's store, or is synced when its delivery has to wait). A disk that refuses costs the run nothing but the
// linking of its log (SegmentSync).
//
// sync() is for one thread at a time; nudge() for any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runner/log_spool.h"
#include "runner/segment_sync.h"
#include "runner/spool.h"

namespace lathe::runner {

class SpoolSync {
 public:
  SpoolSync(const Spool& spool, const LogSpool& log, SegmentSync& segments,
            sys::FileSystem& files = sys::linux_file_system())
      : spool_(spool), log_(log), segments_(segments), files_(files) {}

  // Whether the log has grown since.
  bool is_behind() const;
  void sync();

 private:
  void sync_start();
  bool sync_segment(std::uint64_t segment);

  const Spool& spool_;
  const LogSpool& log_;
  SegmentSync& segments_;
  sys::FileSystem& files_;
  bool has_start_ = false;
  LogStand synced_;  // the log up to here is on disk
};

class SyncThread {
 public:
  explicit SyncThread(SpoolSync& sync) : sync_(sync), thread_([this] { run(); }) {}
  ~SyncThread();
  // There are new bytes. Cheap: no system call unless the thread waits.
  void nudge();

 private:
  void run();

  SpoolSync& sync_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::atomic<bool> idle_ = false;
  std::thread thread_;
};

}  // namespace lathe::runner

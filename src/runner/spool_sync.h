// SpoolSync: brings a spool to the disk while its run goes on, so that a power cut costs at most the last second of
// what a follower was shown: the header and the order once, the log whenever it has grown. No byte and no start waits
// for it: SyncThread does it beside the run, and only runs that live a while have one (a shorter run's log is in the
// server's store, or is synced when its delivery has to wait). A disk that refuses costs the run nothing but the
// linking of its log (SegmentSync).
//
// At the end everything that the exit record vouches for is synced before the record is: sync_results().
//
// Thread-safe; one sync at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

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
  // The log, the metric journals, and the files in these folders of the run folder. An error when the disk refused one
  // of them: then nobody knows what it holds.
  base::Result<void> sync_results(const std::vector<std::string>& folders);

 private:
  void sync_start();
  void sync_log();
  bool sync_segment(std::uint64_t segment);
  base::Result<void> sync_files(const std::vector<std::string>& files, const std::set<std::string>& folders);

  const Spool& spool_;
  const LogSpool& log_;
  SegmentSync& segments_;
  sys::FileSystem& files_;
  mutable std::mutex mutex_;
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

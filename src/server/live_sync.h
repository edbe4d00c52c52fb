// LiveSync: brings live logs that were written by request to the disk, within half a second of their last byte, so that
// a power cut takes away no line that a follower was shown a second before. Owned by LiveLogs. Its thread begins with
// the first byte of a runner that cannot link its log; with runners of this machine there is none. written() may be
// called by any thread. A sync that the disk refuses ends the server (the store's FailStop); anything else is tried
// with the next byte.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "sys/file_system.h"

namespace lathe::server {

class LiveSync {
 public:
  explicit LiveSync(sys::FileSystem& files) : files_(files) {}
  ~LiveSync();
  LiveSync(const LiveSync&) = delete;
  LiveSync& operator=(const LiveSync&) = delete;

  // The file has got new bytes.
  void written(const std::filesystem::path& file);

 private:
  void run();
  void sync(const std::set<std::filesystem::path>& files);

  sys::FileSystem& files_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<std::filesystem::path> dirty_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace lathe::server

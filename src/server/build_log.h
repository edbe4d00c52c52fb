// BuildLog: the log of one build while it grows: a file of the state folder, written by the build's thread a line at a
// time, read by followers on the home thread. When the build is over it becomes a blob.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "cas/blob_store.h"
#include "rt/executor.h"
#include "rt/notifier.h"
#include "sys/fd.h"

namespace lathe::server {

class BuildLog : public std::enable_shared_from_this<BuildLog> {
 public:
  // Goes on with what an earlier server wrote. Throws. Owned by shared pointers only.
  BuildLog(std::filesystem::path file, rt::Executor& home);

  // From any thread. What comes after kMost bytes is dropped, and said once.
  void line(std::string_view text);
  std::uint64_t size() const { return size_; }
  std::string last_line() const;
  // On home: notified when it has grown.
  rt::Notifier& grown() { return grown_; }
  std::string read(std::uint64_t offset, std::size_t length) const;

  // It is over: the blob, durably; the file goes. Blocking.
  cas::BlobInfo seal(cas::BlobStore& store);

 private:
  static constexpr std::uint64_t kMost = 64u << 20;
  void write(std::string_view text);

  const std::filesystem::path file_;
  rt::Executor& home_;
  sys::Fd fd_;
  std::atomic<std::uint64_t> size_ = 0;
  std::atomic<bool> told_ = false;  // home knows already that it has grown
  mutable std::mutex mutex_;        // of the line being written and of last_line_
  std::string last_line_;
  rt::Notifier grown_;
};

}  // namespace lathe::server

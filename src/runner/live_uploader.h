// LiveUploader: ships files of ./outputs, ./logs and live outputs while the script runs. A thread of its own with a
// link of its own; it sleeps until the kernel tells of a change (inotify), and sends a file once it was closed after
// writing, or was quiet for a second, or has been changing for half a minute. Errors of the link are retried; what it
// misses is sent at the end.
#pragma once

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "runner/artifact_uploader.h"
#include "runner/inbox.h"
#include "runner/retry.h"
#include "runner/run_folder.h"
#include "runner/server_link.h"
#include "sys/fd.h"

namespace lathe::runner {

class LiveUploader {
 public:
  // `tops`: the folders that are watched. `uploader` belongs to the thread until stop() has returned.
  LiveUploader(const RunFolder& folder, std::vector<std::string> tops, ArtifactUploader& uploader,
               std::unique_ptr<ServerLink> link, Inbox& inbox, BackoffLimits limits);
  ~LiveUploader() { stop(); }
  void stop();

 private:
  struct Change {
    base::Duration first, due;
  };
  void run();
  void watch_tree(const std::string& top);
  void read_events();
  void note(const std::string& path, base::Duration quiet);
  base::Duration until_next_due() const;
  void upload_due();

  const RunFolder& folder_;
  const std::vector<std::string> tops_;
  ArtifactUploader& uploader_;
  std::unique_ptr<ServerLink> link_;
  Inbox& inbox_;
  Backoff backoff_;
  base::Duration retry_at_{};
  sys::Fd notify_, stop_event_;
  std::map<int, std::string> watched_;
  std::map<std::string, Change> changes_;
  std::thread thread_;
};

}  // namespace lathe::runner

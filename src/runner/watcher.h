// Watcher: a thread that listens to what the server wants of the attempt and posts it to the inbox. Comes back after a
// server restart by itself.
#pragma once

#include <memory>
#include <thread>

#include "runner/inbox.h"
#include "runner/retry.h"
#include "runner/server_link.h"
#include "sys/fd.h"

namespace lathe::runner {

class Watcher {
 public:
  Watcher(std::unique_ptr<ServerLink> link, Inbox& inbox, BackoffLimits limits);
  ~Watcher() { stop(); }
  void stop();

 private:
  void run();

  std::unique_ptr<ServerLink> link_;
  Inbox& inbox_;
  Backoff backoff_;
  sys::Fd stop_event_;
  std::thread thread_;
};

}  // namespace lathe::runner

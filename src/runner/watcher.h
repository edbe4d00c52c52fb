// Watcher: a thread that listens to what the server wants of the attempt: a stop is posted to the inbox, secrets go to
// the redactor. Comes back after a server restart by itself.
#pragma once

#include <memory>
#include <thread>

#include "runner/inbox.h"
#include "runner/log_redactor.h"
#include "runner/retry.h"
#include "runner/server_link.h"
#include "sys/fd.h"

namespace lathe::runner {

class Watcher {
 public:
  Watcher(std::unique_ptr<ServerLink> link, Inbox& inbox, LogRedactor& redactor, BackoffLimits limits);
  ~Watcher() { stop(); }
  void stop();

 private:
  void run();
  base::Result<void> learn_secrets();

  std::unique_ptr<ServerLink> link_;
  Inbox& inbox_;
  LogRedactor& redactor_;
  Backoff backoff_;
  sys::Fd stop_event_;
  std::thread thread_;
};

}  // namespace lathe::runner

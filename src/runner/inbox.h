// Inbox: what the helper threads of a runner tell its main thread. Thread-safe; wakes the main loop by a descriptor.
#pragma once

#include <mutex>
#include <optional>

#include "base/error.h"
#include "model/run.h"
#include "sys/fd.h"

namespace lathe::runner {

class Inbox {
 public:
  static base::Result<std::unique_ptr<Inbox>> create();

  // The server wants the attempt to end.
  void post_stop(model::EndReason reason);
  // The attempt is over for the server: nothing of it counts any more.
  void post_fenced();

  int fd() const { return event_.get(); }
  // Makes the descriptor quiet; what was posted stays readable.
  void acknowledge();
  std::optional<model::EndReason> stop() const;
  bool fenced() const;

 private:
  explicit Inbox(sys::Fd event) : event_(std::move(event)) {}
  void wake();

  sys::Fd event_;
  mutable std::mutex mutex_;
  std::optional<model::EndReason> stop_;
  bool fenced_ = false;
};

}  // namespace lathe::runner

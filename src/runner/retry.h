// Waiting for a server that is away: back-off with jitter, ended early by a descriptor that becomes readable.
#pragma once

#include <chrono>
#include <random>

#include "base/error.h"
#include "base/time.h"

namespace lathe::runner {

// Whether the same call may succeed later without anything being changed here.
bool is_temporary(const base::Error& error);
// Whether the attempt itself is over or has lost its right to speak: nothing else it could say will be heard.
bool ends_attempt(const base::Error& error);

struct BackoffLimits {
  base::Duration first = std::chrono::milliseconds(50);
  base::Duration most = std::chrono::seconds(5);
};

// Doubles from first to most; each wait is between half of that and all of it, so that the runners of a restarted
// server do not come back in step.
class Backoff {
 public:
  explicit Backoff(BackoffLimits limits) : limits_(limits), next_(limits.first) {}
  base::Duration next();
  void reset() { next_ = limits_.first; }

 private:
  BackoffLimits limits_;
  base::Duration next_;
  // Runners that lost the same server must not return in step; more than that is not asked of it.
  std::minstd_rand random_{static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
                           static_cast<unsigned>(::getpid())};
};

// Sleeps, unless `wake_fd` is or becomes readable: then false at once.
bool pause(base::Duration duration, int wake_fd);

// Calls until it succeeds, fails for good, or `wake_fd` interrupts the waiting (Error cancelled).
template <class Call>
auto retry(BackoffLimits limits, int wake_fd, Call call) -> decltype(call()) {
  Backoff backoff(limits);
  for (;;) {
    auto result = call();
    if (result || !is_temporary(result.error())) return result;
    if (!pause(backoff.next(), wake_fd))
      return base::fail(
          base::Error(base::Code::cancelled, "stopped while the server was away: " + result.error().message()));
  }
}

}  // namespace lathe::runner

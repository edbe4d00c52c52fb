// Pace: whether the other end of a connection keeps up. It must move `floor` bytes per second on average over each
// window of time that we spent waiting for it; time in which we had nothing to offer, or were busy ourselves, does not
// count. A trickle of single bytes therefore holds a connection for one window, not for ever.
// A plain value without a clock: its owner tells the time. Never fails.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace lathe::net {

class Pace {
 public:
  // With a floor of 0 one byte per window is enough.
  Pace(std::uint64_t floor_per_second, base::Duration window);

  // A wait for the other end begins; `moved` is the number of bytes that it has moved so far. Gives the time until the
  // next kept_up().
  base::Duration begin_wait(base::SteadyTime now, std::uint64_t moved);
  void end_wait(base::SteadyTime now);
  // For the end of a window, in the middle of a wait: whether the other end moved enough. The next window begins.
  bool kept_up(base::SteadyTime now, std::uint64_t moved);
  base::Duration window() const { return window_; }

 private:
  std::uint64_t needed_;  // bytes per window
  base::Duration window_;
  base::Duration waited_{0};  // in this window, without the present wait
  base::SteadyTime wait_began_{};
  std::uint64_t moved_before_ = 0;  // at the beginning of the window
  bool in_window_ = false;
};

}  // namespace lathe::net

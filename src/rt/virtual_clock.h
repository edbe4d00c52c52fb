// VirtualClock: time for tests; it stands still until it is told to move.
#pragma once

#include "rt/clock.h"

namespace lathe::rt {

class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(base::UtcTime start = {1'600'000'000'000'000}) : utc_(start) {}
  base::UtcTime utc() const override { return utc_; }
  base::SteadyTime steady() const override { return steady_; }

  void advance(base::Duration by) {
    steady_ += by;
    utc_.micros += std::chrono::duration_cast<std::chrono::microseconds>(by).count();
  }
  // Somebody set the machine's clock: only the wall clock moves.
  void jump_utc(base::Duration by) { utc_.micros += std::chrono::duration_cast<std::chrono::microseconds>(by).count(); }

 private:
  base::UtcTime utc_;
  base::SteadyTime steady_{};
};

}  // namespace lathe::rt

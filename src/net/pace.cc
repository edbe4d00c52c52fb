#include "net/pace.h"

#include <algorithm>

namespace lathe::net {

Pace::Pace(std::uint64_t floor_per_second, base::Duration window)
    : needed_(std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(static_cast<double>(floor_per_second) *
                                        std::chrono::duration<double>(window).count()))),
      window_(window) {}

base::Duration Pace::begin_wait(base::SteadyTime now, std::uint64_t moved) {
  if (!std::exchange(in_window_, true)) moved_before_ = moved;
  wait_began_ = now;
  return std::max(base::Duration(0), window_ - waited_);
}

void Pace::end_wait(base::SteadyTime now) { waited_ += now - wait_began_; }

bool Pace::kept_up(base::SteadyTime now, std::uint64_t moved) {
  const bool enough = moved >= moved_before_ && moved - moved_before_ >= needed_;
  moved_before_ = moved;
  wait_began_ = now;
  waited_ = base::Duration(0);
  return enough;
}

}  // namespace lathe::net

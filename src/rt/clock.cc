#include "rt/clock.h"

#include <ctime>

namespace lathe::rt {
namespace {

std::chrono::nanoseconds read_clock(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class SystemClock final : public Clock {
 public:
  base::UtcTime utc() const override {
    return {std::chrono::duration_cast<std::chrono::microseconds>(read_clock(CLOCK_REALTIME)).count()};
  }
  base::SteadyTime steady() const override { return base::SteadyTime(read_clock(CLOCK_BOOTTIME)); }
};

}  // namespace

const Clock& system_clock() {
  static constexpr SystemClock clock;
  return clock;
}

}  // namespace lathe::rt

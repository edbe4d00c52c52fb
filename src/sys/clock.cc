#include "sys/clock.h"

#include <sys/timerfd.h>
#include <time.h>

#include <cerrno>
#include <fstream>

namespace lathe::sys {
namespace {

timespec to_timespec(base::Duration duration) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {duration.count() / kSecond, duration.count() % kSecond};
}

}  // namespace

base::UtcTime utc_now() {
  using namespace std::chrono;
  return {duration_cast<microseconds>(system_clock::now().time_since_epoch()).count()};
}

base::Duration boot_time() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

base::Result<BootTimer> BootTimer::create() {
  Fd fd(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!fd) return base::fail(base::errno_error(errno, "making a timer"));
  return BootTimer(std::move(fd));
}

void BootTimer::arm(base::Duration from_now, base::Duration period) {
  itimerspec spec{to_timespec(period), to_timespec(from_now)};
  ::timerfd_settime(fd_.get(), 0, &spec, nullptr);
}

bool BootTimer::take() {
  std::uint64_t expirations = 0;
  return ::read(fd_.get(), &expirations, sizeof expirations) == sizeof expirations;
}

}  // namespace lathe::sys

#include "cas/lease_clock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/log.h"
#include "sys/clock.h"

namespace lathe::cas {
namespace {

// Far less than any lease; what the kernel stamped within it needs no correction.
constexpr std::int64_t kToleranceMicros = 30 * 1'000'000;

struct Kept {
  std::string boot;
  std::int64_t boot_micros = 0, lease_micros = 0;
};

std::optional<Kept> read_kept(const std::string& path) {
  Kept kept;
  std::string end;
  std::ifstream in(path);
  if (in >> kept.boot >> kept.boot_micros >> kept.lease_micros >> end && end == "end") return kept;
  return std::nullopt;
}

std::int64_t micros(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

// A full disk keeps nobody from opening a store: the old file stands for the same clock until the machine is started.
void keep(const std::string& path, const std::string& text) {
  const auto draft = path + ".new";
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  const bool written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) ::close(fd);
  if (written && ::rename(draft.c_str(), path.c_str()) == 0) return;
  base::log::warn("the lease clock was not kept", {{"file", path}, {"why", std::strerror(errno)}});
  ::unlink(draft.c_str());
}

timespec to_timespec(base::UtcTime time) { return {time.micros / 1'000'000, time.micros % 1'000'000 * 1000}; }

}  // namespace

void LeaseClock::open(const std::string& path) {
  const auto boot = sys::boot_id();
  boot_at_begin_ = sys::boot_time();
  begun_at_ = sys::utc_now();
  if (auto kept = read_kept(path)) {
    const auto passed = micros(boot_at_begin_) - kept->boot_micros;
    begun_at_.micros = kept->lease_micros + (kept->boot == boot && passed > 0 ? passed : 0);
  }
  keep(path, fmt::format("{} {} {} end\n", boot.empty() ? "unknown" : boot, micros(boot_at_begin_), begun_at_.micros));
}

base::UtcTime LeaseClock::now() const { return {begun_at_.micros + micros(sys::boot_time() - boot_at_begin_)}; }

bool LeaseClock::set(int fd) const {
  const timespec times[2] = {{0, UTIME_OMIT}, to_timespec(now())};
  return ::futimens(fd, times) == 0;
}

bool LeaseClock::set(const std::string& path) const {
  const timespec times[2] = {{0, UTIME_OMIT}, to_timespec(now())};
  return ::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0;
}

bool LeaseClock::agrees_with_wall_clock() const {
  return std::llabs(sys::utc_now().micros - now().micros) < kToleranceMicros;
}

void LeaseClock::correct(int fd) const {
  if (!agrees_with_wall_clock()) (void)set(fd);
}

void LeaseClock::correct(const std::string& path) const {
  if (!agrees_with_wall_clock()) (void)set(path);
}

std::optional<base::UtcTime> LeaseHolds::earliest() const {
  std::lock_guard lock(mutex_);
  return begun_.empty() ? std::nullopt : std::optional(base::UtcTime{*begun_.begin()});
}

LeaseHold::LeaseHold(LeaseHolds& holds, base::UtcTime now) : holds_(holds) {
  std::lock_guard lock(holds_.mutex_);
  mine_ = holds_.begun_.insert(now.micros);
}

LeaseHold::~LeaseHold() {
  std::lock_guard lock(holds_.mutex_);
  holds_.begun_.erase(mine_);
}

}  // namespace lathe::cas

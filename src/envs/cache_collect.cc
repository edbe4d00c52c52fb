#include <sys/stat.h>

#include <algorithm>

#include "envs/cache.h"
#include "envs/file_lock.h"
#include "envs/marker.h"
#include "sys/clock.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

base::UtcTime modified(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_mtim.tv_sec * 1'000'000 + status.st_mtim.tv_nsec / 1000};
}

// Work of a process that was killed: nobody comes back to it. A day is longer than any build.
void remove_leftovers(const fs::path& tmp, base::UtcTime now) {
  constexpr std::int64_t kDayMicros = 86'400'000'000;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(tmp, ignored))
    if (now.micros - modified(entry.path()).micros > kDayMicros) fs::remove_all(entry.path(), ignored);
}

}  // namespace

std::vector<CacheEntry> Cache::list() const {
  std::vector<CacheEntry> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(settings_.cache / "realised", ignored)) {
    auto marker = read_marker(entry.path());
    if (!marker || marker->lock.hex() != entry.path().filename()) continue;
    const fs::path stamp = settings_.cache / "used" / marker->lock.hex();
    auto free = try_lock(stamp, LockKind::exclusive);
    out.push_back({marker->lock, entry.path(), marker->bytes, modified(stamp), free && !*free});
  }
  std::ranges::sort(out, {}, &CacheEntry::last_used);
  return out;
}

base::Result<Collected> Cache::collect(const CollectPolicy& policy, bool dry_run) {
  Collected out;
  const base::UtcTime now = sys::utc_now();
  auto entries = list();
  for (const auto& entry : entries) out.kept_bytes += entry.bytes;
  for (const auto& entry : entries) {
    const bool old = policy.unused_for &&
                     now.micros - entry.last_used.micros >= std::chrono::microseconds(*policy.unused_for).count();
    const bool too_much = policy.max_bytes && out.kept_bytes > *policy.max_bytes;
    if ((!old && !too_much) || entry.in_use) continue;
    if (!dry_run) {
      LATHE_TRY(bool removed, remove(entry.lock));
      if (!removed) continue;
    }
    out.removed.push_back(entry);
    out.bytes += entry.bytes;
    out.kept_bytes -= entry.bytes;
  }
  if (!dry_run) remove_leftovers(settings_.cache / "tmp", now);
  return out;
}

}  // namespace lathe::envs

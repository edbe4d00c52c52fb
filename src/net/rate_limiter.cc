#include "net/rate_limiter.h"

#include <algorithm>

namespace lathe::net {
namespace {

double seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

RateLimiter::Bucket& RateLimiter::refill(const std::string& name, base::SteadyTime now) {
  if (buckets_.size() >= tidy_at_) forget_full(now);
  auto& bucket = buckets_.try_emplace(name, Bucket{burst_, now}).first->second;
  bucket.left = std::min(burst_, bucket.left + rate_ * seconds(now - bucket.at));
  bucket.at = now;
  return bucket;
}

// A full bucket says the same as none. The next look comes when their number has doubled, so that it costs little.
void RateLimiter::forget_full(base::SteadyTime now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    return entry.second.left + rate_ * seconds(now - entry.second.at) >= burst_;
  });
  tidy_at_ = std::max<std::size_t>(1024, 2 * buckets_.size());
}

base::Duration RateLimiter::time_until_one(const Bucket& bucket) const {
  if (bucket.left >= 1) return base::Duration(0);
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>((1 - bucket.left) / rate_));
}

base::Duration RateLimiter::take(const std::string& name, base::SteadyTime now) {
  if (rate_ <= 0) return base::Duration(0);
  auto& bucket = refill(name, now);
  const auto wait = time_until_one(bucket);
  if (wait == base::Duration(0)) bucket.left -= 1;
  return wait;
}

base::Duration RateLimiter::charge(const std::string& name, base::SteadyTime now) {
  if (rate_ <= 0) return base::Duration(0);
  auto& bucket = refill(name, now);
  bucket.left -= 1;
  return time_until_one(bucket);
}

base::Duration RateLimiter::debt(const std::string& name, base::SteadyTime now) {
  if (rate_ <= 0 || !buckets_.contains(name)) return base::Duration(0);
  return time_until_one(refill(name, now));
}

}  // namespace lathe::net

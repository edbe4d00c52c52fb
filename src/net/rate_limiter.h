// RateLimiter: token buckets by name (a caller, an address): so many per second on average, so many at once. Keeps only
// buckets that are not full. Home thread only; its owner tells the time. Never fails.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/time.h"

namespace lathe::net {

class RateLimiter {
 public:
  // With a rate of 0 everything passes.
  RateLimiter(double per_second, double burst) : rate_(per_second), burst_(burst < 1 ? 1 : burst) {}

  // Takes one, and gives 0; or takes nothing, and gives the time until there is one.
  base::Duration take(const std::string& name, base::SteadyTime now);
  // Takes one in any case, on credit if need be; gives how long it takes until the debt is paid.
  base::Duration charge(const std::string& name, base::SteadyTime now);
  // How long it takes until `name` has something again; 0 when it has.
  base::Duration debt(const std::string& name, base::SteadyTime now);
  std::size_t buckets() const { return buckets_.size(); }

 private:
  struct Bucket {
    double left;
    base::SteadyTime at;
  };
  Bucket& refill(const std::string& name, base::SteadyTime now);
  base::Duration time_until_one(const Bucket& bucket) const;
  void forget_full(base::SteadyTime now);

  double rate_, burst_;
  std::unordered_map<std::string, Bucket> buckets_;
  std::size_t tidy_at_ = 1024;
};

}  // namespace lathe::net

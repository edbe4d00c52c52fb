// Virtual time: events run one after the other in order of time, then of being scheduled. Nothing waits for real.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/time.h"

namespace lathe::sim {

// A promise that does not hold; the test turns it into a failure with the seed that replays it.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Micros = std::int64_t;

class Loop {
 public:
  explicit Loop(std::uint64_t seed) : random_(seed) {}

  Micros now() const { return now_; }
  base::UtcTime utc() const { return {now_}; }
  base::SteadyTime steady() const { return base::SteadyTime(std::chrono::microseconds(now_)); }

  void after(Micros delay, std::function<void()> action) { events_.push({now_ + delay, next_++, std::move(action)}); }
  // Runs the next event; false when there is none.
  bool step() {
    if (events_.empty()) return false;
    Event event = std::move(const_cast<Event&>(events_.top()));
    events_.pop();
    now_ = event.at;
    event.action();
    return true;
  }

  Micros between(Micros low, Micros high) {
    return low + static_cast<Micros>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent_of_hundred) { return between(0, 99) < percent_of_hundred; }
  bool one_in(Micros n) { return n > 0 && between(1, n) == 1; }

 private:
  struct Event {
    Micros at;
    std::uint64_t order;
    std::function<void()> action;
    bool operator<(const Event& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };

  Micros now_ = 1'000'000;
  std::uint64_t next_ = 0;
  std::priority_queue<Event> events_;
  std::mt19937_64 random_;
};

inline constexpr Micros kMillisecond = 1000;
inline constexpr Micros kSecond = 1'000'000;

}  // namespace lathe::sim

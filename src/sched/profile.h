// StepFunction: how much of something is free from now on, as a step function of time. The planner keeps one for the
// machine and one for the nodes of each compute, and asks when a run could start at the earliest without taking what
// was promised to another one.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sched/types.h"

namespace lathe::sched {

inline bool fits(const Resources& need, const Resources& available) { return need.fits_in(available); }
inline bool fits(std::int64_t need, std::int64_t available) { return need <= available; }

template <class Amount>
class StepFunction {
 public:
  StepFunction(Time now, Amount free) { steps_.emplace_back(now, free); }

  // `amount` more is free from `when` on; called in order of time.
  void grow(Time when, const Amount& amount) {
    Amount level = steps_.back().second;
    level += amount;
    if (steps_.back().first >= when)
      steps_.back().second = level;
    else
      steps_.emplace_back(when, level);
  }

  // `amount` is taken during [from, to).
  void take(Time from, Time to, const Amount& amount) {
    const std::size_t first = split(from), last = split(to);
    for (std::size_t i = first; i < last; ++i) steps_[i].second -= amount;
  }

  // The earliest time from `from` on at which `need` is free for the whole of `length`; nothing when there is none.
  std::optional<Time> earliest(Time from, const Amount& need, base::Duration length) const {
    Time start = from;
    for (std::size_t i = index_of(from); i < steps_.size(); ++i) {
      if (steps_[i].first >= start + length) return start;
      if (fits(need, steps_[i].second)) continue;
      if (i + 1 == steps_.size()) return std::nullopt;
      start = std::max(from, steps_[i + 1].first);
    }
    return start;
  }

 private:
  // The step in force at `when`, which is not before the first one.
  std::size_t index_of(Time when) const {
    auto after = std::ranges::upper_bound(steps_, when, {}, &std::pair<Time, Amount>::first);
    return after == steps_.begin() ? 0 : static_cast<std::size_t>(after - steps_.begin() - 1);
  }
  // Makes a step begin at `when`; its index.
  std::size_t split(Time when) {
    const std::size_t at = index_of(when);
    if (steps_[at].first >= when) return at;
    steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(at) + 1, {when, steps_[at].second});
    return at + 1;
  }

  std::vector<std::pair<Time, Amount>> steps_;
};

}  // namespace lathe::sched

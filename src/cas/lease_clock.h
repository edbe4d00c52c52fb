// LeaseClock: the clock of a store's leases. A lease is the modification time of a blob by this clock, so that it
// survives a restart without a table; the clock itself only ever counts:
// - It begins at the wall clock when a store is first opened, and is then kept in the file `clock` of the store.
// - While the machine is up it follows the boot clock, whatever becomes of the wall clock, also from one process to the
//   next. A start of the machine counts as no time at all: how long it was off, or how far its clock was moved
//   meanwhile, cannot be told apart, and a lease that lasts too long only keeps some garbage a little longer.
// The kernel stamps new files with the wall clock; where the two differ, correct() sets the time right.
//
// LeaseHold: work that goes on. LeaseHolds knows when the oldest of it began. All of this is thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"

namespace lathe::cas {

class LeaseClock {
 public:
  // Goes on where the file says; without one, or with a damaged one, it begins at the wall clock. To be called first.
  void open(const std::string& path);

  base::UtcTime now() const;
  // The lease of a file begins now. False when it cannot be changed.
  bool set(int fd) const;
  bool set(const std::string& path) const;
  // The same for a file that the kernel has stamped a moment ago: no system call while the wall clock is right.
  void correct(int fd) const;
  void correct(const std::string& path) const;

 private:
  bool agrees_with_wall_clock() const;

  base::UtcTime begun_at_;          // by this clock
  base::Duration boot_at_begin_{};  // the boot clock then
};

class LeaseHolds {
 public:
  std::optional<base::UtcTime> earliest() const;

 private:
  friend class LeaseHold;
  mutable std::mutex mutex_;
  std::multiset<std::int64_t> begun_;
};

class LeaseHold {
 public:
  LeaseHold(LeaseHolds& holds, base::UtcTime now);
  ~LeaseHold();
  LeaseHold(const LeaseHold&) = delete;
  LeaseHold& operator=(const LeaseHold&) = delete;

 private:
  LeaseHolds& holds_;
  std::multiset<std::int64_t>::iterator mine_;
};

}  // namespace lathe::cas

// Notifier: "something changed" for coroutines of the home thread. A waiter names the version it has seen, so that a
// change between its look and its wait is never missed.
#pragma once

#include <coroutine>
#include <cstdint>
#include <list>

#include "rt/cancel.h"
#include "rt/executor.h"
#include "rt/loop.h"
#include "rt/task.h"

namespace lathe::rt {

class Notifier {
 public:
  explicit Notifier(Executor& home) : home_(home) {}
  std::uint64_t version() const { return version_; }
  // Wakes all waiters (through the executor, never inline).
  void notify();
  // Resumes when version() != seen. Throws Error(cancelled) when the token fires first.
  Task<void> changed(std::uint64_t seen, CancelToken cancel = {});
  // The same for at most so long; false when nothing changed.
  Task<bool> changed_within(std::uint64_t seen, Loop& loop, base::Duration limit, CancelToken cancel = {});

 private:
  struct Waiter;
  Executor& home_;
  std::uint64_t version_ = 0;
  std::list<Waiter*> waiters_;
};

}  // namespace lathe::rt

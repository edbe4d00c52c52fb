#include "rt/notifier.h"

namespace lathe::rt {

// Lives in the frame of changed() while it waits. Leaves the list exactly once: by notify() or by its cancellation.
struct Notifier::Waiter {
  Notifier& notifier;
  std::list<Waiter*>::iterator place{};
  std::coroutine_handle<> waiting{};
  bool listed = false;
  bool notified = false;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    waiting = handle;
    place = notifier.waiters_.insert(notifier.waiters_.end(), this);
    listed = true;
  }
  void await_resume() const noexcept {}

  void wake() {
    if (!std::exchange(listed, false)) return;
    notifier.waiters_.erase(place);
    notifier.home_.post([handle = waiting] { handle.resume(); });
  }
};

void Notifier::notify() {
  ++version_;
  while (!waiters_.empty()) {
    waiters_.front()->notified = true;
    waiters_.front()->wake();
  }
}

Task<void> Notifier::changed(std::uint64_t seen, CancelToken cancel) {
  cancel.check();
  if (version_ != seen) co_return;
  Waiter waiter{*this};
  CancelSubscription on_cancel(cancel, [&] { waiter.wake(); });
  co_await waiter;
  // The notifier may be gone by now: nothing of it is touched after the wait.
  cancel.check();
}

Task<bool> Notifier::changed_within(std::uint64_t seen, Loop& loop, base::Duration limit, CancelToken cancel) {
  cancel.check();
  if (version_ != seen) co_return true;
  Waiter waiter{*this};
  CancelSubscription on_cancel(cancel, [&] { waiter.wake(); });
  Timer on_limit(loop, limit, [&] { waiter.wake(); });
  co_await waiter;
  cancel.check();
  co_return waiter.notified;
}

}  // namespace lathe::rt

// Cancellation for coroutines of one thread: a source is cancelled once, every waiter of its tokens is woken.
// Home thread only; no locks. A default token is never cancelled.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace lathe::rt {

class CancelToken;

class CancelSource {
 public:
  CancelSource() : state_(std::make_shared<State>()) {}
  CancelToken token() const;
  void cancel();
  bool cancelled() const { return state_->cancelled; }

 private:
  friend class CancelToken;
  friend class CancelSubscription;
  struct State {
    bool cancelled = false;
    std::uint64_t next = 0;
    std::map<std::uint64_t, std::function<void()>> callbacks;
  };
  std::shared_ptr<State> state_;
};

// Runs its callback when the token is cancelled (at once if it already is); forgets it when destroyed.
class CancelSubscription {
 public:
  CancelSubscription() = default;
  CancelSubscription(const CancelToken& token, std::function<void()> callback);
  CancelSubscription(CancelSubscription&& other) noexcept { swap(other); }
  CancelSubscription& operator=(CancelSubscription&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CancelSubscription() {
    if (state_) state_->callbacks.erase(id_);
  }

 private:
  void swap(CancelSubscription& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(id_, other.id_);
  }
  std::shared_ptr<CancelSource::State> state_;
  std::uint64_t id_ = 0;
};

class CancelToken {
 public:
  CancelToken() = default;
  bool cancelled() const { return state_ && state_->cancelled; }
  // Throws Error(cancelled) when cancelled.
  void check() const;

 private:
  friend class CancelSource;
  friend class CancelSubscription;
  std::shared_ptr<CancelSource::State> state_;
};

}  // namespace lathe::rt

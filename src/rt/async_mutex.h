// AsyncMutex: lets one coroutine at a time through. Home thread only; waiters go first come, first served, and are
// woken through the executor. Hold the Lock across co_await; it is released when destroyed.
#pragma once

#include <coroutine>
#include <deque>
#include <utility>

#include "rt/executor.h"

namespace lathe::rt {

class AsyncMutex {
 public:
  explicit AsyncMutex(Executor& home) : home_(home) {}

  class Lock {
   public:
    explicit Lock(AsyncMutex* mutex) : mutex_(mutex) {}
    Lock(Lock&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    ~Lock() {
      if (mutex_) mutex_->unlock();
    }

   private:
    AsyncMutex* mutex_;
  };

  // co_await mutex.lock()
  auto lock() {
    struct Awaiter {
      AsyncMutex& mutex;
      bool await_ready() {
        if (mutex.held_) return false;
        mutex.held_ = true;
        return true;
      }
      void await_suspend(std::coroutine_handle<> waiting) { mutex.waiters_.push_back(waiting); }
      Lock await_resume() { return Lock(&mutex); }
    };
    return Awaiter{*this};
  }

 private:
  void unlock() {
    if (waiters_.empty()) {
      held_ = false;
      return;
    }
    auto next = waiters_.front();
    waiters_.pop_front();
    home_.post([next] { next.resume(); });  // the lock passes on without being free in between
  }
  Executor& home_;
  bool held_ = false;
  std::deque<std::coroutine_handle<>> waiters_;
};

}  // namespace lathe::rt

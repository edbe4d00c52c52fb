#include "rt/pool.h"

#include <pthread.h>
#include <signal.h>

#include "base/error.h"

namespace lathe::rt {

BlockingPool::BlockingPool(std::string name, int threads, std::size_t queue_limit) : limit_(queue_limit) {
  // Signals belong to the home thread: the pool's threads inherit a mask that blocks them all.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { loop(); });
    ::pthread_setname_np(threads_.back().native_handle(), name.substr(0, 15).c_str());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BlockingPool::~BlockingPool() { stop(); }

void BlockingPool::submit(std::move_only_function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) throw base::Error(base::Code::unavailable, "the server is stopping");
    if (queue_.size() >= limit_)
      throw base::Error(base::Code::unavailable, "too much file work is waiting").hint("try again in a moment");
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void BlockingPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void BlockingPool::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it captured ends outside the lock
    lock.lock();
  }
}

}  // namespace lathe::rt

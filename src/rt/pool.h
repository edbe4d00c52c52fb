// BlockingPool: a few named threads for file work that would stall the home thread. Bounded queue: a full one makes
// submit() throw Error(unavailable), so that load is refused instead of piled up.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "rt/executor.h"
#include "rt/task.h"

namespace lathe::rt {

class BlockingPool {
 public:
  BlockingPool(std::string name, int threads, std::size_t queue_limit);
  ~BlockingPool();  // stop()
  void submit(std::move_only_function<void()> work);
  // Finishes what is queued, then joins the threads.
  void stop();

  // Runs `work` on the pool and resumes on `home` with its value or its exception.
  template <class F>
  Task<std::invoke_result_t<F>> run(Executor& home, F work);

 private:
  void loop();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::move_only_function<void()>> queue_;
  std::size_t limit_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Awaitable that hands its coroutine to another thread: start(done) must call done() once, from any thread; the
// coroutine then goes on at `home`.
template <class Start>
struct ResumeOn {
  Executor& home;
  Start start;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    start([this, waiting] { home.post([waiting] { waiting.resume(); }); });
  }
  void await_resume() const noexcept {}
};
template <class Start>
ResumeOn(Executor&, Start) -> ResumeOn<Start>;

template <class F>
Task<std::invoke_result_t<F>> BlockingPool::run(Executor& home, F work) {
  using T = std::invoke_result_t<F>;
  std::exception_ptr error;
  std::conditional_t<std::is_void_v<T>, bool, std::optional<T>> value{};
  co_await ResumeOn{home, [&](auto done) {
                      submit([&, done]() mutable {
                        try {
                          if constexpr (std::is_void_v<T>)
                            work();
                          else
                            value.emplace(work());
                        } catch (...) {
                          error = std::current_exception();
                        }
                        done();
                      });
                    }};
  if (error) std::rethrow_exception(error);
  if constexpr (!std::is_void_v<T>) co_return std::move(*value);
}

}  // namespace lathe::rt

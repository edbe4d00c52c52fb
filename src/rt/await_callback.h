// Bridge from callback APIs (Asio) to Task. `co_await await_callback<R...>(start)` calls start(handler), suspends, and
// gives the tuple of what the handler was called with. The handler must be called once, later, on the home thread.
#pragma once

#include <coroutine>
#include <tuple>
#include <utility>

namespace lathe::rt {

template <class Start, class... Results>
class CallbackAwaiter {
 public:
  explicit CallbackAwaiter(Start start) : start_(std::move(start)) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    start_([this, waiting](Results... results) {
      results_ = std::tuple<Results...>(std::move(results)...);
      waiting.resume();
    });
  }
  std::tuple<Results...> await_resume() { return std::move(results_); }

 private:
  Start start_;
  std::tuple<Results...> results_;
};

template <class... Results, class Start>
CallbackAwaiter<Start, Results...> await_callback(Start start) {
  return CallbackAwaiter<Start, Results...>(std::move(start));
}

}  // namespace lathe::rt

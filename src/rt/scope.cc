#include "rt/scope.h"

#include "base/check.h"
#include "base/error.h"
#include "base/log.h"

namespace lathe::rt {
namespace {

Task<void> end_quietly(std::string name, Task<void> task) {
  try {
    co_await std::move(task);
  } catch (const base::Error& error) {
    if (error.code() != base::Code::cancelled)
      base::log::error("coroutine-failed",
                       {{"name", name}, {"code", base::code_name(error.code())}, {"error", error.text()}});
  } catch (const std::exception& error) {
    base::log::error("coroutine-failed", {{"name", name}, {"error", error.what()}});
  } catch (...) {
    base::log::error("coroutine-failed", {{"name", name}, {"error", "an exception of unknown type"}});
  }
}

}  // namespace

// The frame of one spawned coroutine: destroys itself at its end and hands over to the joiner when it was the last.
struct Scope::Detached {
  struct promise_type {
    Scope& scope;
    promise_type(Scope& owner, const std::string&, const Task<void>&) : scope(owner) {}
    struct Last {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        Scope& owner = self.promise().scope;
        self.destroy();
        if (--owner.live_ > 0 || !owner.joiner_) return std::noop_coroutine();
        return std::exchange(owner.joiner_, {});
      }
      void await_resume() noexcept {}
    };
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    Last final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

Scope::~Scope() { LATHE_CHECK(live_ == 0, "a Scope ends with {} live coroutines: join() it first", live_); }

void Scope::spawn(std::string name, Task<void> task) {
  ++live_;
  run(std::move(name), std::move(task));
}

Scope::Detached Scope::run(std::string name, Task<void> task) {
  co_await end_quietly(std::move(name), std::move(task));
}

Task<void> Scope::join() {
  if (live_ == 0) co_return;
  LATHE_CHECK(!joiner_, "a Scope is joined by one coroutine");
  struct Join {
    std::coroutine_handle<>& joiner;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) noexcept { joiner = waiting; }
    void await_resume() const noexcept {}
  };
  co_await Join{joiner_};
}

}  // namespace lathe::rt

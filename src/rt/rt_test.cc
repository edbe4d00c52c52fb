#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include "base/error.h"
#include "rt/loop.h"
#include "rt/notifier.h"
#include "rt/pool.h"
#include "rt/scope.h"
#include "rt/virtual_clock.h"

namespace lathe::rt {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Error;

// Runs `body` on `loop` to its end; what it throws comes out here.
void run_to_end(Loop& loop, Task<void> body) {
  Scope scope;
  std::exception_ptr failure;
  auto guarded = [](Loop& home, Task<void> inner, std::exception_ptr& error) -> Task<void> {
    try {
      co_await std::move(inner);
    } catch (...) {
      error = std::current_exception();
    }
    home.stop();
  };
  scope.spawn("test", guarded(loop, std::move(body), failure));
  loop.run();
  if (failure) std::rethrow_exception(failure);
}

template <class F>
Code code_of(F body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Code::internal;
}

Task<int> plus_one(int value) { co_return value + 1; }
Task<int> depth(int levels) { co_return levels == 0 ? 0 : 1 + co_await depth(levels - 1); }
Task<int> failing() {
  throw Error(Code::conflict, "no");
  co_return 0;
}

TEST(Task, GivesItsValueAndRethrowsItsErrorToTheAwaiter) {
  Loop loop;
  auto body = []() -> Task<void> {
    EXPECT_EQ(co_await plus_one(41), 42);
    EXPECT_THROW(co_await failing(), Error);
  };
  run_to_end(loop, body());
}

TEST(Task, AMillionAwaitsDoNotGrowTheStack) {
  Loop loop;
  auto body = []() -> Task<void> {
    int sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum = co_await plus_one(sum);
    EXPECT_EQ(sum, 1'000'000);
    EXPECT_EQ(co_await depth(200'000), 200'000);
  };
  run_to_end(loop, body());
}

TEST(Cancel, RunsCallbacksOnceAndForgetsEndedSubscriptions) {
  CancelSource source;
  int first = 0, second = 0, late = 0;
  CancelSubscription kept(source.token(), [&] { ++first; });
  {
    CancelSubscription ended(source.token(), [&] { ++second; });
  }
  source.cancel();
  source.cancel();
  CancelSubscription after(source.token(), [&] { ++late; });
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  EXPECT_EQ(late, 1);
  EXPECT_EQ(code_of([&] { source.token().check(); }), Code::cancelled);
  EXPECT_FALSE(CancelToken().cancelled());
}

TEST(Cancel, ACallbackMayEndAnotherSubscription) {
  CancelSource source;
  int called = 0;
  std::optional<CancelSubscription> other;
  CancelSubscription first(source.token(), [&] { other.reset(); });
  other.emplace(source.token(), [&] { ++called; });
  source.cancel();
  EXPECT_EQ(called, 0);
}

TEST(Loop, ACancelledSleepEndsAtOnce) {
  Loop loop;
  CancelSource source;
  loop.post([&] { source.cancel(); });
  EXPECT_EQ(code_of([&] { run_to_end(loop, loop.sleep(1h, source.token())); }), Code::cancelled);
  EXPECT_EQ(code_of([&] { run_to_end(loop, loop.sleep(1h, source.token())); }), Code::cancelled);
}

TEST(Loop, SleepsAtLeastTheTimeAsked) {
  Loop loop;
  const auto before = system_clock().steady();
  run_to_end(loop, loop.sleep(20ms));
  EXPECT_GE(system_clock().steady() - before, 20ms);
}

TEST(Loop, ReadableWakesForTwoWaitersAndLeavesTheDescriptorOpen) {
  Loop loop;
  const int fd = ::eventfd(0, EFD_CLOEXEC);
  auto body = [&]() -> Task<void> {
    Scope waiters;
    waiters.spawn("one", loop.readable(fd));
    waiters.spawn("two", loop.readable(fd));
    EXPECT_EQ(waiters.live(), 2);
    EXPECT_EQ(::eventfd_write(fd, 1), 0);
    co_await waiters.join();
  };
  run_to_end(loop, body());
  eventfd_t value = 0;
  EXPECT_EQ(::eventfd_read(fd, &value), 0);
  EXPECT_EQ(value, 1u);
  CancelSource source;
  loop.post([&] { source.cancel(); });
  EXPECT_EQ(code_of([&] { run_to_end(loop, loop.readable(fd, source.token())); }), Code::cancelled);
  ::close(fd);
}

TEST(Loop, SignalsAreQueuedBetweenTwoWaits) {
  Loop loop;
  auto body = [&]() -> Task<void> {
    loop.post([] {
      ::raise(SIGTERM);
      ::raise(SIGHUP);
    });
    EXPECT_EQ(co_await loop.signal(), SIGTERM);
    EXPECT_EQ(co_await loop.signal(), SIGHUP);
    CancelSource source;
    loop.post([&] { source.cancel(); });
    try {
      co_await loop.signal(source.token());
      ADD_FAILURE() << "not cancelled";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::cancelled);
    }
  };
  run_to_end(loop, body());
}

TEST(Loop, StopFromAnotherThreadRunsWhatIsReady) {
  Loop loop;
  bool ran = false;
  std::thread other([&] {
    loop.stop();
    loop.post([&] { loop.post([&] { ran = true; }); });
  });
  other.join();
  loop.run();
  EXPECT_TRUE(ran);
}

long switches_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string word; status >> word;)
    if (word == "voluntary_ctxt_switches:") {
      long count = 0;
      status >> count;
      return count;
    }
  return -1;
}

TEST(Loop, AnIdleLoopIsNeverWoken) {
  Loop loop;
  Scope scope;
  const int fd = ::eventfd(0, EFD_CLOEXEC);
  std::promise<pid_t> id;
  loop.post([&] {
    scope.spawn("sleeper", loop.sleep(1h, scope.token()));
    scope.spawn("reader", loop.readable(fd, scope.token()));
    loop.post([&] { id.set_value(static_cast<pid_t>(::syscall(SYS_gettid))); });
  });
  std::thread home([&] { loop.run(); });
  const pid_t thread = id.get_future().get();
  // It settles once; from then on a window of real time passes without one switch.
  long before = -1;
  for (long now = switches_of(thread); now != before; now = switches_of(thread)) {
    before = now;
    std::promise<void>().get_future().wait_for(50ms);
  }
  std::promise<void>().get_future().wait_for(300ms);
  EXPECT_EQ(switches_of(thread), before);
  loop.post([&] {
    scope.stop();
    loop.stop();
  });
  home.join();
  EXPECT_EQ(scope.live(), 0);
  ::close(fd);
}

TEST(Scope, JoinWaitsForTheLastAndStopCancelsAll) {
  Loop loop;
  auto body = [&]() -> Task<void> {
    Scope scope;
    co_await scope.join();
    for (int i = 0; i < 10; ++i) scope.spawn("sleeper", loop.sleep(1h, scope.token()));
    EXPECT_EQ(scope.live(), 10);
    loop.post([&] { scope.stop(); });
    co_await scope.join();
    EXPECT_EQ(scope.live(), 0);
  };
  run_to_end(loop, body());
}

TEST(Scope, AFailingCoroutineHarmsNoOther) {
  Loop loop;
  auto fails = []() -> Task<void> { co_await failing(); };
  auto body = [&]() -> Task<void> {
    Scope scope;
    int done = 0;
    auto counts = [&]() -> Task<void> {
      co_await loop.sleep(1ms);
      ++done;
    };
    scope.spawn("fails", fails());
    scope.spawn("counts", counts());
    co_await scope.join();
    EXPECT_EQ(done, 1);
  };
  run_to_end(loop, body());
}

TEST(ScopeDeathTest, IsNotDestroyedWithLiveCoroutines) {
  EXPECT_DEATH(
      {
        Loop loop;
        Scope scope;
        scope.spawn("sleeper", loop.sleep(1h));
      },
      "join");
}

TEST(Notifier, NeverMissesAChangeBetweenLookAndWait) {
  Loop loop;
  auto body = [&]() -> Task<void> {
    Notifier notifier(loop);
    const auto seen = notifier.version();
    notifier.notify();
    co_await notifier.changed(seen);  // would hang if the change were lost
    EXPECT_EQ(notifier.version(), seen + 1);
  };
  run_to_end(loop, body());
}

TEST(Notifier, WakesAllWaitersAndSurvivesBeingDestroyedBeforeTheyRun) {
  Loop loop;
  auto body = [&]() -> Task<void> {
    auto notifier = std::make_unique<Notifier>(loop);
    CancelSource source;
    Scope scope;
    int woken = 0;
    auto waits = [&](CancelToken cancel) -> Task<void> {
      co_await notifier->changed(0, cancel);
      ++woken;
    };
    for (int i = 0; i < 3; ++i) scope.spawn("waiter", waits({}));
    scope.spawn("cancelled", waits(source.token()));
    source.cancel();
    source.cancel();
    EXPECT_EQ(woken, 0);
    notifier->notify();
    notifier.reset();
    EXPECT_EQ(woken, 0);  // never inline
    co_await scope.join();
    EXPECT_EQ(woken, 3);
  };
  run_to_end(loop, body());
}

TEST(BlockingPool, ResumesAtHomeWithTheValueOrTheError) {
  Loop loop;
  BlockingPool pool("test", 2, 8);
  auto body = [&]() -> Task<void> {
    const auto home = std::this_thread::get_id();
    std::thread::id worker;
    EXPECT_EQ(co_await pool.run(loop,
                                [&] {
                                  worker = std::this_thread::get_id();
                                  return std::string("x");
                                }),
              "x");
    EXPECT_NE(worker, home);
    EXPECT_EQ(std::this_thread::get_id(), home);
    EXPECT_THROW(co_await pool.run(loop, [] { throw Error(Code::io, "disk"); }), Error);
  };
  run_to_end(loop, body());
}

TEST(BlockingPool, AFullQueueRefusesWorkAndStopFinishesWhatIsQueued) {
  BlockingPool pool("test", 1, 2);
  std::promise<void> started, release;
  std::atomic<int> done = 0;
  pool.submit([&] {
    started.set_value();
    release.get_future().wait();
    ++done;
  });
  started.get_future().wait();
  pool.submit([&] { ++done; });
  pool.submit([&] { ++done; });
  EXPECT_EQ(code_of([&] { pool.submit([&] { ++done; }); }), Code::unavailable);
  release.set_value();
  pool.stop();
  EXPECT_EQ(done, 3);
  EXPECT_EQ(code_of([&] { pool.submit([] {}); }), Code::unavailable);
}

TEST(VirtualClock, MovesOnlyWhenTold) {
  VirtualClock clock;
  const auto utc = clock.utc();
  const auto steady = clock.steady();
  clock.advance(2s);
  clock.jump_utc(-10s);
  EXPECT_EQ(clock.steady() - steady, 2s);
  EXPECT_EQ(clock.utc().micros - utc.micros, -8'000'000);
}

}  // namespace
}  // namespace lathe::rt

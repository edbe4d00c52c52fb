// Loop: the home thread's event loop (Asio inside loop.cc only). run() is the home thread until stop().
// Costs no wake-up while nothing happens: timers and descriptors are armed only while somebody awaits them.
#pragma once

#include <functional>
#include <memory>

#include "base/time.h"
#include "rt/cancel.h"
#include "rt/executor.h"
#include "rt/task.h"

namespace lathe::rt {

class Loop final : public Executor {
 public:
  Loop();
  ~Loop() override;

  void post(std::move_only_function<void()> work) override;
  void run();
  // From any thread: run() returns once the queue of ready work is empty.
  void stop();

  // Lets everything else that is ready run first.
  Task<void> turn();
  // Throws Error(cancelled) when the token fires first.
  Task<void> sleep(base::Duration duration, CancelToken cancel = {});
  // Resumes when `fd` is readable (a pidfd: when the process has ended). The fd stays the caller's.
  Task<void> readable(int fd, CancelToken cancel = {});
  // Resumes with the signal number when one of SIGTERM, SIGINT, SIGHUP arrives.
  Task<int> signal(CancelToken cancel = {});

  // The asio::io_context, for net/ only.
  void* context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Timer: calls back once, on the home thread, unless it is destroyed before. Home thread only.
class Timer {
 public:
  Timer(Loop& loop, base::Duration after, std::function<void()> callback);
  ~Timer();
  Timer(const Timer&) = delete;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace lathe::rt

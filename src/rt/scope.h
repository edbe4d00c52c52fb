// Scope: the owner of coroutines that nobody awaits. Home thread only.
// stop() cancels its token; join() resumes when the last of its coroutines has ended. A Scope must be joined before it
// is destroyed. An Error(cancelled) that leaves a coroutine is its normal end; any other is logged with the name.
#pragma once

#include <coroutine>
#include <string>

#include "rt/cancel.h"
#include "rt/task.h"

namespace lathe::rt {

class Scope {
 public:
  ~Scope();
  void spawn(std::string name, Task<void> task);
  CancelToken token() const { return source_.token(); }
  void stop() { source_.cancel(); }
  Task<void> join();
  int live() const { return live_; }

 private:
  CancelSource source_;
  int live_ = 0;
  std::coroutine_handle<> joiner_;
  struct Detached;
  Detached run(std::string name, Task<void> task);
};

}  // namespace lathe::rt

// Where work runs. The home executor is the one thread that owns the domain state.
#pragma once

#include <functional>

namespace lathe::rt {

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `work` later on this executor's thread. Callable from any thread. Never runs it inline.
  virtual void post(std::move_only_function<void()> work) = 0;
};

}  // namespace lathe::rt

// What server and runners of the simulation say to each other.
#pragma once

#include <compare>
#include <functional>

#include "base/error.h"
#include "model/run.h"

namespace lathe::sim {

// One node task: a runner is started for each.
struct TaskKey {
  std::int64_t run = 0;
  int attempt = 0;
  int node = 0;
  auto operator<=>(const TaskKey&) const = default;
};

struct Answer {
  std::optional<base::Code> error;
  model::EndReason stop = model::EndReason::none;  // what the runner should do; none: go on
};
using Reply = std::function<void(const Answer&)>;

// The server as a runner reaches it; every call may be lost, late or doubled on the way.
class ServerPort {
 public:
  virtual ~ServerPort() = default;
  virtual void claim(const TaskKey& task, Reply reply) = 0;
  virtual void process_ended(const TaskKey& task, Reply reply) = 0;
  virtual void finish(const TaskKey& task, const model::ExitRecord& exit, Reply reply) = 0;
};

}  // namespace lathe::sim

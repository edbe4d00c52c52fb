// LocalProvider: runners as processes of this machine, each in its own session, so that they outlive the server.
// A handle is "pid:start time"; the pair names one process for ever, even after its pid is used again.
// A task's folder is locked before its runner is started, and the runner inherits the lock: a later server can tell a
// runner that has not come far from one that was never started. From then on the runner's own lock on its spool tells.
#pragma once

#include <string>
#include <vector>

#include "compute/provider.h"
#include "rt/loop.h"
#include "rt/pool.h"

namespace lathe::compute {

struct LocalConfig {
  std::filesystem::path program;      // the lathe binary
  std::filesystem::path work;         // one folder per node task below it
  std::vector<std::string> launcher;  // command put before the runner's own, e.g. {"nice"}
  model::Machine machine;
};

class LocalProvider final : public Provider {
 public:
  LocalProvider(LocalConfig config, rt::Loop& home, rt::BlockingPool& pool);
  rt::Task<std::string> start(RunnerStart start) override;
  rt::Task<std::string> adopt(TaskName task, std::string url) override;
  rt::Task<Found> find(TaskName task) override;
  rt::Task<void> clear(TaskName task) override;
  rt::Task<std::vector<TaskName>> traces() override;
  rt::Task<void> gone(std::string handle, rt::CancelToken cancel) override;
  void kill(const std::string& handle) override;
  std::filesystem::path folder(const TaskName& task) const override;
  const model::Machine& capacity() const override { return config_.machine; }

 private:
  // The child gets `lock` as descriptor 3, when there is one.
  base::Result<std::string> spawn(std::vector<std::string> arguments, std::vector<std::string> environment,
                                  int lock = -1) const;
  base::Result<std::string> start_in(const std::filesystem::path& folder, std::vector<std::string> arguments,
                                     std::vector<std::string> environment) const;
  LocalConfig config_;
  rt::Loop& home_;
  rt::BlockingPool& pool_;
};

}  // namespace lathe::compute

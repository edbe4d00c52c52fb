// LocalProvider: runners as processes of this machine, each in its own session, so that they outlive the server.
// They come out of a fork server (sys/fork_server.h), unless a launcher stands before their command: then each is
// executed.
// A handle is "pid:start time"; the pair names one process for ever, even after its pid is used again. ":starting"
// behind it means the process and all that it has started: there is no spool yet, and so no guardian who would end
// them. A task's folder is locked before its runner is started, and the runner inherits the lock: a later server can
// tell a runner that has not come far from one that was never started. From then on the runner's own lock on its spool
// tells.
#pragma once

#include <string>
#include <vector>

#include "compute/provider.h"
#include "compute/spare_folders.h"
#include "rt/loop.h"
#include "rt/pool.h"
#include "sys/fork_server.h"

namespace lathe::compute {

struct LocalConfig {
  std::filesystem::path program;      // the lathe binary
  std::filesystem::path work;         // one folder per node task below it
  std::vector<std::string> launcher;  // command put before the runner's own, e.g. {"nice"}
  model::Machine machine;
  std::vector<std::string> variables = {};  // further ones for runners, "NAME=value"
  std::uint64_t descriptors = 0;  // what a runner sets as its soft limit of open files; 0: nothing
};

class LocalProvider final : public Provider {
 public:
  LocalProvider(LocalConfig config, rt::Loop& home, rt::BlockingPool& pool);
  rt::Task<std::string> start(RunnerStart start) override;
  rt::Task<std::string> adopt(TaskName task, std::string url) override;
  rt::Task<Found> find(TaskName task) override;
  rt::Task<bool> clear(TaskName task) override;
  rt::Task<std::string> keep(TaskName task) override;
  rt::Task<std::vector<TaskName>> traces() override;
  rt::Task<void> gone(std::string handle, rt::CancelToken cancel) override;
  void kill(const std::string& handle) override;
  std::filesystem::path folder(const TaskName& task) const override;
  const model::Machine& capacity() const override { return config_.machine; }

 private:
  // The runner has `lock` as descriptor 3, when there is one; `variables` come on top of the server's environment.
  base::Result<std::string> start_runner(std::vector<std::string> arguments, std::vector<std::string> variables,
                                         int lock = -1);
  base::Result<std::string> execute(std::vector<std::string> arguments, std::vector<std::string> variables,
                                    int lock) const;
  base::Result<void> start_fork_server(int socket);
  LocalConfig config_;
  rt::Loop& home_;
  rt::BlockingPool& pool_;
  SpareFolders spares_;
  pid_t fork_server_ = 0;  // touched under the lock of forks_ only
  sys::ForkClient forks_;
};

}  // namespace lathe::compute

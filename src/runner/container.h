// Container: the image in which the processes of a run live. They see the folders of the run and of its environment
// under their own paths, and nothing else of the node. The engine's processes are below the guardian like those of any
// run; what it keeps on its own account goes with remove(). Main thread.
#pragma once

#include <optional>
#include <string>

#include "envs/container_engine.h"
#include "envs/realiser.h"
#include "launch/launcher.h"
#include "runner/run_box.h"
#include "runner/server_link.h"
#include "runner/spool.h"
#include "sys/box.h"
#include "sys/cgroup.h"

namespace lathe::runner {

class Container {
 public:
  // That of the spool's attempt; there is one at most for each attempt and node.
  static base::Result<Container> of(const SpoolHeader& header, const std::string& engine);

  // The process that runs `spec` inside of the environment's image.
  launch::ProcessSpec wrap(const launch::ProcessSpec& spec, const envs::Realised& environment, const Spool& spool,
                           const Order& order, const RunBox* box);
  // What of the hidden folders the engine needs for it.
  std::vector<sys::BoxShown> shown(const Spool& spool) const;
  // What the engine's exit status means beyond the program's own.
  void explain(model::ExitRecord& exit, const Order& order) const;
  void remove();

 private:
  Container(envs::ContainerEngine engine, std::string name) : engine_(std::move(engine)), name_(std::move(name)) {}
  envs::ContainerEngine engine_;
  std::string name_;
  std::string prefix_;  // of the environment
  std::optional<sys::Cgroup> group_;  // with the limits; the engine's own lies below it
};

}  // namespace lathe::runner

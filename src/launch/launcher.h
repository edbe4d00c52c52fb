// Launcher: from what a run asks for to the processes that a node has to start. A pure function of its input; the plain
// launcher starts the user's command once, distributed ones (MPI, TF_CONFIG) will be further implementations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/run.h"

namespace lathe::launch {

using Variables = std::map<std::string, std::string>;

// Who the process is and what it may use: the part of the environment that is the same for every launcher.
struct RunIdentity {
  std::string run_id, experiment, workspace, subscription_id, resource_group;
  std::string url;                  // of the server, as the script can reach it
  std::string token, token_expiry;  // the latter in seconds since 1970, as the platform has it
  std::string metrics_folder = {};  // where the script's metric journals go
};

struct LaunchInput {
  model::Command command;
  std::string interpreter;  // of the realised environment; may be empty with `command.command`
  Variables inherited;      // the runner's own environment
  Variables environment;    // of the realised environment and the user; wins over inherited ones
  RunIdentity identity;
  model::Slice slice;
  bool machine_has_gpu = false;
  std::string directory;      // the run folder
  bool in_container = false;  // programs are looked for in an image, not here
};

// argv[0] is the path of a file that exists; in a container it may be a name.
struct ProcessSpec {
  std::vector<std::string> argv;
  Variables environment;
  std::string directory;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual base::Result<ProcessSpec> prepare(const LaunchInput& input) const = 0;
};

class PlainLauncher : public Launcher {
 public:
  base::Result<ProcessSpec> prepare(const LaunchInput& input) const override;
};

// "NAME=value" of each.
std::vector<std::string> to_environment(const Variables& variables);
// The environment of this process, without what is only for the runner (LATHE_RUN_TOKEN and its companions).
Variables inherited_environment();
// Of those only what programs need everywhere and what is no secret: language, time zone, paths of programs and
// libraries, settings of numeric libraries, GPUs and MPI, proxies without a password. `more` names others; one that ends
// in * stands for all that begin so.
Variables allowed_environment(const std::vector<std::string>& more);

}  // namespace lathe::launch

// Realiser: from the environment that a run asks for to one that is on this node. The seam for managed environments
// (uv, conda, images): each will be an implementation that builds once per lock and node. Blocking; fails with a hint.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/run.h"

namespace lathe::envs {

struct Realised {
  std::string interpreter;  // empty when the run needs none
  std::map<std::string, std::string> variables;
  std::string prefix = {};  // folder of a managed environment, to be given to the run read-only; empty: none
  std::string image = {};   // id of the image in which its processes run; empty: none
  std::vector<std::string> engine_arguments = {};  // for the engine that runs the image
};

class Realiser {
 public:
  virtual ~Realiser() = default;
  virtual base::Result<Realised> realise(const model::EnvironmentRef& environment) = 0;
};

// The user's own interpreter: nothing is built, but it must be there.
class UserManaged : public Realiser {
 public:
  base::Result<Realised> realise(const model::EnvironmentRef& environment) override;
};

}  // namespace lathe::envs

// UsageMeter: what the processes of a run use, sampled every two seconds while they run; peaks are of their sum.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/run.h"
#include "sys/gpu.h"

namespace lathe::runner {

class UsageMeter {
 public:
  static constexpr base::Duration kPeriod = std::chrono::seconds(2);

  // `root` is not counted, what is below it is.
  UsageMeter(pid_t root, std::vector<std::string> gpus);
  void sample();
  // Memory and GPU so far; processor time is the guardian's to tell.
  const model::Usage& usage() const { return usage_; }

 private:
  const pid_t root_;
  const std::vector<std::string> gpus_;
  std::unique_ptr<sys::GpuInventory> inventory_;
  base::Duration last_;
  model::Usage usage_;
};

}  // namespace lathe::runner

#include "runner/usage_meter.h"

#include <algorithm>

#include "sys/clock.h"
#include "sys/process_tree.h"

namespace lathe::runner {

UsageMeter::UsageMeter(pid_t root, std::vector<std::string> gpus)
    : root_(root),
      gpus_(std::move(gpus)),
      inventory_(gpus_.empty() ? nullptr : sys::open_gpu_inventory()),
      last_(sys::boot_time()) {}

void UsageMeter::sample() {
  usage_.peak_memory_bytes = std::max(usage_.peak_memory_bytes, sys::tree_usage(root_).resident_bytes);
  const base::Duration now = sys::boot_time();
  const double seconds = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  std::int64_t gpu_memory = 0;
  for (const auto& uuid : gpus_) {
    auto use = inventory_->use(uuid);
    if (!use) continue;
    gpu_memory += use->memory_bytes;
    usage_.gpu_seconds += use->busy * seconds;
  }
  usage_.peak_gpu_memory_bytes = std::max(usage_.peak_gpu_memory_bytes, gpu_memory);
}

}  // namespace lathe::runner

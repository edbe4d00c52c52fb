// GPUs of this machine. NVML is loaded when it is there (no build-time dependency); the file named by
// LATHE_GPU_INVENTORY stands in for it in tests: one line per device, "UUID memory_bytes used_bytes percent".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace lathe::sys {

struct GpuDevice {
  std::string uuid;
  std::string name;
  std::int64_t memory_bytes = 0;
};

struct GpuUse {
  std::int64_t memory_bytes = 0;
  double busy = 0;  // 0 to 1
};

class GpuInventory {
 public:
  virtual ~GpuInventory() = default;
  virtual std::vector<GpuDevice> devices() = 0;
  // not_found for a device that is not here.
  virtual base::Result<GpuUse> use(const std::string& uuid) = 0;
};

// The real one, the stand-in, or one without devices. Loading NVML takes tens of milliseconds: do it once, when needed.
std::unique_ptr<GpuInventory> open_gpu_inventory();

// Whether there may be a GPU at all, without loading anything.
bool machine_may_have_gpu();

}  // namespace lathe::sys

// What this machine offers to runs: cores that we may really use (affinity, cgroup quota), memory (cgroup limit), host.
#pragma once

#include <cstdint>
#include <string>

namespace lathe::sys {

struct MachineInfo {
  std::string host;
  std::int64_t millicores = 0;
  std::int64_t memory_bytes = 0;
};

MachineInfo read_machine();

}  // namespace lathe::sys

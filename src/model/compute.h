// Compute targets and the sizes of their nodes, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace lathe::model {

enum class VmPriority { dedicated, low_priority };
// "dedicated" and "lowpriority", the words of Azure ML.
std::string_view vm_priority_name(VmPriority priority);
std::optional<VmPriority> vm_priority_from_name(std::string_view name);

struct NodeSize {
  std::string name;  // "STANDARD_NC6"; "machine" is this whole machine
  std::int64_t millicores = 0;
  std::int64_t memory_bytes = 0;
  int gpus = 0;
  bool operator==(const NodeSize&) const = default;
};

struct ComputeTarget {
  std::string workspace;
  std::string name;
  std::string provider = "local";
  std::string vm_size = "machine";
  int min_nodes = 0;
  int max_nodes = 1;
  std::int64_t idle_seconds = 120;
  VmPriority priority = VmPriority::dedicated;
  base::UtcTime created;
  bool operator==(const ComputeTarget&) const = default;
};

enum class GpuRule { optional, required };
enum class SizeRule { fit, exact };
struct SiteRules {
  GpuRule gpu = GpuRule::optional;
  SizeRule size = SizeRule::fit;
};

// Names, counts, the provider and the size; not whether it fits (fit_size says that).
base::Result<void> validate_compute(const ComputeTarget& target);

// What one machine has.
struct Machine {
  std::int64_t millicores = 0;
  std::int64_t memory_bytes = 0;
  std::vector<std::string> gpus;
};

// The node that a target really gets on this machine, and in words what was changed.
struct FittedSize {
  NodeSize size;
  std::vector<std::string> notes;
};

// Under `fit` a node is cut so that all max_nodes nodes of the target fit on the machine at once (so that a gang of
// max_nodes can run); under `exact` what does not fit is refused. Under gpu `optional` missing GPUs are left out.
base::Result<FittedSize> fit_size(const NodeSize& wanted, int max_nodes, const Machine& machine,
                                  const SiteRules& rules);

}  // namespace lathe::model

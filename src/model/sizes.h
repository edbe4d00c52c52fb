// The catalogue of node sizes by their Azure names (vm_sizes.csv, carried in the binary). Read once, then constant;
// safe from any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "model/compute.h"

namespace lathe::model {

// The size that stands for everything this machine has; fit_size gives it its numbers.
inline constexpr std::string_view kWholeMachine = "machine";

// The text of vm_sizes.csv.
extern const std::string_view kVmSizesCsv;

std::span<const NodeSize> all_sizes();
// Names are compared without regard to case; the size carries the catalogue's spelling.
std::optional<NodeSize> find_size(std::string_view name);
// An unknown name is `invalid`, with near names as the hint.
base::Result<NodeSize> get_size(std::string_view name);

}  // namespace lathe::model

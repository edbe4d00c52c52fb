#include "model/compute.h"

#include "base/strings.h"
#include "model/names.h"
#include "model/sizes.h"

namespace lathe::model {
namespace {

using base::Code;
using base::Error;
using base::Result;

constexpr std::int64_t kSmallestMemory = 1 << 20;

std::string cores(std::int64_t millicores) {
  return millicores % 1000 == 0 ? fmt::format("{}", millicores / 1000)
                                : fmt::format("{:.2f}", static_cast<double>(millicores) / 1000);
}

std::string nodes_in_words(int nodes) { return nodes == 1 ? "one node" : fmt::format("{} nodes", nodes); }

std::string bytes(std::int64_t value) { return base::human_bytes(static_cast<std::uint64_t>(value)); }

// One call of fit_size: every resource is min(wanted, the machine's share for one of max_nodes nodes).
struct Fitting {
  NodeSize wanted;
  int max_nodes;
  const Machine& machine;
  const SiteRules& rules;
  FittedSize fitted;

  void note(const std::string& what) { fitted.notes.push_back(fmt::format("{}: {}", wanted.name, what)); }
  void note_cut(std::string_view what, const std::string& from, const std::string& to) {
    note(
        fmt::format("{} cut from {} to {}, so that {} fit on this machine", what, from, to, nodes_in_words(max_nodes)));
  }
  std::unexpected<Error> too_big(const std::string& why, std::string hint) const {
    return base::fail(Error(Code::invalid, fmt::format("{} of {} would not fit on this machine: {}",
                                                       nodes_in_words(max_nodes), wanted.name, why))
                          .field("vm_size")
                          .hint(std::move(hint)));
  }

  // A GPU is never shared, but a machine with one GPU must not leave it idle because the target may have four nodes: a
  // node keeps at least one while there is any, and runs wait for it in turn.
  Result<void> fit_gpus() {
    const int there = static_cast<int>(machine.gpus.size());
    int& given = fitted.size.gpus = std::min(wanted.gpus, std::max(there / max_nodes, std::min(there, 1)));
    if (rules.gpu == GpuRule::required && wanted.gpus * max_nodes > there)
      return too_big(fmt::format("each wants {} GPUs and the machine has {}", wanted.gpus, there),
                     "use a size without GPUs, fewer nodes, or the site rule 'gpu: optional'");
    if (given < wanted.gpus && given == 0)
      note(fmt::format("runs without its {} GPU(s); this machine has none", wanted.gpus));
    else if (given < wanted.gpus)
      note_cut("GPUs", std::to_string(wanted.gpus), std::to_string(given));
    if (given * max_nodes > there)
      note(
          fmt::format("this machine has {} GPU(s) for {}; runs wait for them in turn, a run of more nodes goes without",
                      there, nodes_in_words(max_nodes)));
    return {};
  }

  Result<void> fit_cores_and_memory() {
    NodeSize& given = fitted.size;
    given.millicores = std::min(wanted.millicores, machine.millicores / max_nodes);
    given.memory_bytes = std::min(wanted.memory_bytes, machine.memory_bytes / max_nodes);
    if (given.millicores == wanted.millicores && given.memory_bytes == wanted.memory_bytes) return {};
    if (rules.size == SizeRule::exact)
      return too_big(fmt::format("each wants {} cores and {}, and the machine has {} and {}", cores(wanted.millicores),
                                 bytes(wanted.memory_bytes), cores(machine.millicores), bytes(machine.memory_bytes)),
                     "use a smaller size, fewer nodes, or the site rule 'size: fit'");
    if (given.millicores < 1 || given.memory_bytes < kSmallestMemory)
      return too_big("nothing would be left for each", "lower max_nodes");
    if (given.millicores < wanted.millicores) note_cut("cores", cores(wanted.millicores), cores(given.millicores));
    if (given.memory_bytes < wanted.memory_bytes)
      note_cut("memory", bytes(wanted.memory_bytes), bytes(given.memory_bytes));
    return {};
  }
};

}  // namespace

std::string_view vm_priority_name(VmPriority priority) {
  return priority == VmPriority::dedicated ? "dedicated" : "lowpriority";
}

std::optional<VmPriority> vm_priority_from_name(std::string_view name) {
  for (auto priority : {VmPriority::dedicated, VmPriority::low_priority})
    if (vm_priority_name(priority) == name) return priority;
  return std::nullopt;
}

Result<void> validate_compute(const ComputeTarget& target) {
  LATHE_TRY_VOID(check_workspace_name(target.workspace));
  LATHE_TRY_VOID(check_compute_name(target.name));
  if (target.provider != "local")
    return base::fail(
        Error(Code::invalid, fmt::format("provider '{}' is not offered", base::printable(target.provider, 80)))
            .field("provider")
            .hint("use local: a node is then a slice of this machine"));
  if (auto size = get_size(target.vm_size); !size) return base::fail(std::move(size).error());
  LATHE_TRY_VOID(check_range("max_nodes", target.max_nodes, 1, kMaxNodes));
  LATHE_TRY_VOID(check_range("min_nodes", target.min_nodes, 0, target.max_nodes));
  return check_range("idle_seconds", target.idle_seconds, 0, kMaxIdleSeconds);
}

Result<FittedSize> fit_size(const NodeSize& size, int max_nodes, const Machine& machine, const SiteRules& rules) {
  Fitting fitting{.wanted = size, .max_nodes = max_nodes, .machine = machine, .rules = rules, .fitted = {}};
  const int machine_gpus = static_cast<int>(machine.gpus.size());
  if (size.name == kWholeMachine) fitting.wanted = {size.name, machine.millicores, machine.memory_bytes, machine_gpus};
  fitting.fitted.size.name = size.name;
  LATHE_TRY_VOID(fitting.fit_gpus());
  LATHE_TRY_VOID(fitting.fit_cores_and_memory());
  return std::move(fitting.fitted);
}

}  // namespace lathe::model

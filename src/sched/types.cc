#include "sched/types.h"

#include "base/strings.h"

namespace lathe::sched {

Resources& Resources::operator+=(const Resources& other) {
  millicores += other.millicores;
  memory_bytes += other.memory_bytes;
  gpus += other.gpus;
  return *this;
}

Resources& Resources::operator-=(const Resources& other) { return *this += other * -1; }

bool Resources::fits_in(const Resources& available) const {
  return millicores <= available.millicores && memory_bytes <= available.memory_bytes && gpus <= available.gpus;
}

Resources total_of(const model::Machine& machine) {
  return {machine.millicores, machine.memory_bytes, static_cast<std::int64_t>(machine.gpus.size())};
}

Resources total_of(const model::NodeSize& node) { return {node.millicores, node.memory_bytes, node.gpus}; }

Compute make_compute(const model::ComputeTarget& target, const model::NodeSize& fitted) {
  return {.id = {target.workspace, target.name},
          .node = fitted,
          .min_nodes = target.min_nodes,
          .max_nodes = target.max_nodes,
          .idle = std::chrono::seconds(target.idle_seconds),
          .priority = target.priority};
}

Request make_request(const model::RunRecord& run) {
  return {.number = run.sequence,
          .run = run.id,
          .compute = {run.workspace, run.spec.compute},
          .node_count = run.spec.node_count,
          .priority = run.spec.priority,
          .longest = std::chrono::seconds(run.spec.max_run_duration_seconds + run.spec.grace_seconds)};
}

Resources need_of(const Compute& compute, int node_count, const model::Machine& machine) {
  Resources node = total_of(compute.node);
  node.gpus = std::min<std::int64_t>(node.gpus, static_cast<std::int64_t>(machine.gpus.size()) / node_count);
  return node * node_count;
}

base::Result<void> can_ever_run(const model::RunSpec& spec, const Compute& compute, const model::Machine& machine) {
  using base::Code;
  using base::Error;
  if (spec.node_count > compute.max_nodes)
    return base::fail(
        Error(Code::invalid, fmt::format("the run wants {} nodes and compute '{}' has at most {}", spec.node_count,
                                         compute.id.name, compute.max_nodes))
            .field("node_count")
            .hint(fmt::format("use at most {} nodes, or raise max_nodes of the compute", compute.max_nodes)));
  const Resources need = need_of(compute, spec.node_count, machine), there = total_of(machine);
  if (!need.fits_in(there))
    return base::fail(
        Error(Code::invalid,
              fmt::format(
                  "{} node(s) of compute '{}' need {:.2f} cores, {} and {} GPUs; this machine has {:.2f}, {} and {}",
                  spec.node_count, compute.id.name, static_cast<double>(need.millicores) / 1000,
                  base::human_bytes(static_cast<std::uint64_t>(need.memory_bytes)), need.gpus,
                  static_cast<double>(there.millicores) / 1000,
                  base::human_bytes(static_cast<std::uint64_t>(there.memory_bytes)), there.gpus))
            .field("compute")
            .hint("use fewer nodes or a compute with a smaller vm_size"));
  return {};
}

}  // namespace lathe::sched

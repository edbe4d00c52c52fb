#include "wire/compute.h"

#include <boost/json.hpp>

#include "wire/json.h"

namespace lathe::wire {

namespace json = boost::json;

base::Result<model::ComputeTarget> parse_compute(std::string_view body, std::string_view workspace,
                                                 std::string_view name) {
  LATHE_TRY(json::value value, parse_json(body, 64 * 1024));
  model::ComputeTarget target;
  target.workspace = workspace;
  target.name = name;
  Fields fields(value);
  fields.text("provider", target.provider)
      .text("vm_size", target.vm_size)
      .integer("min_nodes", target.min_nodes)
      .integer("max_nodes", target.max_nodes)
      .integer("idle_seconds", target.idle_seconds)
      .word("priority", target.priority, model::vm_priority_from_name, "dedicated or lowpriority");
  LATHE_TRY_VOID(fields.finish());
  LATHE_TRY_VOID(model::validate_compute(target));
  return target;
}

json::object compute_json(const ComputeView& view) {
  const model::ComputeTarget& target = view.target;
  const model::NodeSize& size = view.fitted.size;
  json::array notes(view.fitted.notes.begin(), view.fitted.notes.end()), held;
  for (const auto& node : view.held) {
    held.push_back({{"node", node.node}, {"run", node.run}});
    notes.push_back(json::string(
        fmt::format("node {} is held: processes of run {} live on and cannot be killed", node.node, node.run)));
  }
  return {{"name", target.name},
          {"workspace", target.workspace},
          {"provider", target.provider},
          {"vm_size", target.vm_size},
          {"min_nodes", target.min_nodes},
          {"max_nodes", target.max_nodes},
          {"idle_seconds", target.idle_seconds},
          {"priority", model::vm_priority_name(target.priority)},
          {"created", base::format_utc(target.created)},
          {"node",
           {{"cores", static_cast<double>(size.millicores) / 1000},
            {"memory_bytes", size.memory_bytes},
            {"gpus", size.gpus}}},
          {"notes", std::move(notes)},
          {"nodes",
           {{"idle", view.nodes.idle},
            {"running", view.nodes.running},
            {"leaving", view.nodes.leaving},
            {"current", view.nodes.current},
            {"target", view.nodes.target}}},
          {"held", std::move(held)},
          {"queue", view.queue}};
}

}  // namespace lathe::wire

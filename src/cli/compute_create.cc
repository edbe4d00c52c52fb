#include "cli/call.h"
#include "cli/commands.h"
#include "cli/compute_fields.h"
#include "cli/json.h"
#include "model/names.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "NAME", .help = "the target's name, e.g. cpu-cluster"}};
constexpr std::array kOptions{
    Option{.name = "size",
           .value = "VM_SIZE",
           .help = "the size of a node, e.g. STANDARD_D2_V2; machine is all of this machine",
           .fallback = "machine"},
    Option{.name = "min-nodes", .value = "N", .help = "nodes kept ready", .fallback = "0"},
    Option{.name = "max-nodes", .value = "N", .help = "nodes at most", .fallback = "1"},
    Option{.name = "idle-seconds", .value = "S", .help = "an idle node leaves after this time", .fallback = "120"},
    Option{.name = "priority",
           .value = "CLASS",
           .help = "low-priority runs give way to dedicated ones",
           .fallback = "dedicated",
           .choices = "dedicated|lowpriority"},
    Option{.name = "provider", .value = "NAME", .help = "who starts the nodes", .fallback = "local"},
};
constexpr std::array kExamples{Example{"lathe compute create cpu-cluster --size STANDARD_D2_V2 --max-nodes 4",
                                       "the pool of the Azure ML tutorials"}};

base::Result<int> create(Call& call) {
  const auto& typed = call.arguments;
  LATHE_TRY(auto least, typed.number("min-nodes", 0, 0, model::kMaxNodes));
  LATHE_TRY(auto most, typed.number("max-nodes", 1, 1, model::kMaxNodes));
  LATHE_TRY(auto idle, typed.number("idle-seconds", 120, 0, model::kMaxIdleSeconds));
  json::object body{{"vm_size", typed.value_or("size", "machine")},
                    {"min_nodes", least},
                    {"max_nodes", most},
                    {"idle_seconds", idle},
                    {"priority", typed.value_or("priority", "dedicated")},
                    {"provider", typed.value_or("provider", "local")}};
  LATHE_TRY(auto text,
            call.api().send("PUT", call.workspace_path({"computes", call.argument(0)}), json::serialize(body)));
  return call.print_one(text, kComputeFields);
}

}  // namespace

constinit const Command kComputeCreate{.path = "compute create",
                                       .summary = "Create a compute target, or change it",
                                       .details =
                                           "A size larger than this machine is cut to it, and a GPU that is not there "
                                           "is left out, unless the site's rules\n"
                                           "say otherwise; the notes tell what was changed.",
                                       .options = kOptions,
                                       .arguments = kArguments,
                                       .examples = kExamples,
                                       .run = create};

}  // namespace lathe::cli

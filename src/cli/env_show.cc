// lathe env list, show, explain
#include "cli/commands.h"
#include "cli/env_fields.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kColumns{Column{"ENVIRONMENT", "/name"}, Column{"VERSION", "/version"},
                              Column{"CURATED", "/curated"}, Column{"CREATED", "/created", Shown::time},
                              Column{"BY", "/created_by"}};
constexpr std::array kExamples{Example{"lathe env explain AzureML-TensorFlow-2.2-GPU", "what it became here, and why"}};

base::Result<int> list(Call& call) { return call.print_list(call.workspace_path({"environments"}), kColumns); }

base::Result<int> show(Call& call) {
  LATHE_TRY(auto text, call.api().get(environment_path(call, call.argument(0))));
  LATHE_TRY(auto value, parse_json(text, "the environment"));
  write_data(pretty_json(value));
  return 0;
}

base::Result<int> explain(Call& call) {
  LATHE_TRY(auto text, call.api().get(environment_path(call, call.argument(0), "explain")));
  LATHE_TRY(auto value, parse_json(text, "the explanation"));
  if (call.settings.json) return write_data(pretty_json(value)), 0;
  write_data(render_fields({{"environment", text_at(value, "/name")},
                            {"version", text_at(value, "/version")},
                            {"on this machine", text_at(value, "/ready") == "true" ? "yes" : "no"}}));
  write_data(text_at(value, "/text"));
  return 0;
}

}  // namespace

constinit const Command kEnvList{
    .path = "env list", .summary = "List the environments, curated ones among them", .run = list};

constinit const Command kEnvShow{
    .path = "env show", .summary = "Show the definition of an environment", .arguments = kVersionArgument, .run = show};

constinit const Command kEnvExplain{
    .path = "env explain",
    .summary = "Tell what an environment became: Python, date of its packages, and every replacement with its reason",
    .arguments = kVersionArgument,
    .examples = kExamples,
    .run = explain};

}  // namespace lathe::cli

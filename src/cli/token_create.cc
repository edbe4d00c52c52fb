#include "cli/box_warning.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "NAME", .help = "whom or what it is for"}};
constexpr std::array kOptions{
    Option{.name = "role",
           .value = "ROLE",
           .help = "what it may do",
           .fallback = "contributor",
           .choices = "viewer|contributor|operator|admin"},
    Option{.name = "days", .value = "N", .help = "it expires after this many days", .fallback = "90"},
    Option{.name = "only-workspace", .value = "NAME", .help = "it works in this workspace only"},
    Option{.name = "save",
           .value = "FILE",
           .help = "write the token into this new file (mode 0600) instead of stdout",
           .completes = Completes::file},
};
constexpr std::array kFields{Column{"id", "/id"}, Column{"name", "/name"}, Column{"role", "/role"},
                             Column{"expires", "/expires", Shown::time}, Column{"token", "/token"}};

base::Result<int> create(Call& call) {
  const auto& typed = call.arguments;
  LATHE_TRY(auto days, typed.number("days", 90, 1, 3650));
  json::object body{
      {"name", call.argument(0)}, {"role", typed.value_or("role", "contributor")}, {"expires_in_days", days}};
  if (auto workspace = typed.find("only-workspace")) body["workspace"] = *workspace;
  LATHE_TRY(auto text, call.api().send("POST", api_path({"tokens"}), json::serialize(body)));
  // Who submits runs is as mighty as a run is.
  if (const auto role = typed.value_or("role", "contributor"); role == "contributor" || role == "operator")
    warn_where_runs_have_no_boxes(call);
  auto file = typed.find("save");
  if (!file) {
    say("the token is shown only now");
    return call.print_one(text, kFields);
  }
  LATHE_TRY(auto value, parse_json(text, "the server's answer"));
  LATHE_TRY_VOID(replace_file(*file, text_at(value, "/token") + "\n", 0600));
  value.as_object().erase("token");
  say("the token is in {}", *file);
  return call.print_one(json::serialize(value), kFields);
}

}  // namespace

constinit const Command kTokenCreate{.path = "token create",
                                     .summary = "Create a token for a person or a program",
                                     .details =
                                         "viewer reads; contributor also submits and changes runs; operator also "
                                         "changes compute targets and the store;\n"
                                         "admin also manages tokens.",
                                     .options = kOptions,
                                     .arguments = kArguments,
                                     .run = create};

}  // namespace lathe::cli

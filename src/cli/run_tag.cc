#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{
    Argument{.name = "RUN", .help = "the run's id"},
    Argument{.name = "KEY[=VALUE]", .help = "a tag to set", .required = false, .repeated = true}};
constexpr std::array kOptions{Option{.name = "remove", .value = "KEY", .help = "a tag to take away", .repeated = true}};
constexpr std::array kFields{Column{"run", "/id"}, Column{"tags", "/tags"}};

base::Result<int> tag(Call& call) {
  json::object changes;
  const auto& typed = call.arguments.positionals;
  for (std::size_t i = 1; i < typed.size(); ++i) {
    auto equals = typed[i].find('=');
    changes[typed[i].substr(0, equals)] = equals == std::string::npos ? "" : typed[i].substr(equals + 1);
  }
  for (const auto& key : call.arguments.all("remove")) changes[key] = nullptr;
  if (changes.empty())
    return base::fail(base::Error(base::Code::invalid, "no tag was given").hint("lathe run tag RUN KEY=VALUE"));
  LATHE_TRY(auto text, call.api().send("PATCH", call.workspace_path({"runs", call.argument(0), "tags"}),
                                       json::serialize(changes)));
  return call.print_one(text, kFields);
}

}  // namespace

constinit const Command kRunTag{.path = "run tag",
                                .summary = "Set or remove tags of a run",
                                .options = kOptions,
                                .arguments = kArguments,
                                .run = tag};

}  // namespace lathe::cli

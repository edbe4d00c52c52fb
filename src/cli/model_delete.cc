#include "cli/call.h"
#include "cli/commands.h"
#include "cli/named_version.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "NAME:VERSION", .help = "the version to delete"}};

base::Result<int> remove(Call& call) {
  auto [name, version] = parse_named_version(call.argument(0));
  if (version.empty())
    return base::fail(
        base::Error(base::Code::invalid, "say which version").hint(fmt::format("lathe model delete {}:VERSION", name)));
  LATHE_TRY_VOID(call.api().send("DELETE", call.workspace_path({"models", name, "versions", version})));
  say("model {}:{} is deleted", name, version);
  return 0;
}

}  // namespace

constinit const Command kModelDelete{.path = "model delete",
                                     .summary = "Delete one version of a model; its number is not used again",
                                     .arguments = kArguments,
                                     .run = remove};

}  // namespace lathe::cli

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "ID", .help = "the token's id, as token list shows it"}};

base::Result<int> revoke(Call& call) {
  LATHE_TRY_VOID(call.api().send("DELETE", api_path({"tokens", call.argument(0)})));
  say("revoked {}", call.argument(0));
  return 0;
}

}  // namespace

constinit const Command kTokenRevoke{
    .path = "token revoke", .summary = "Revoke a token, at once", .arguments = kArguments, .run = revoke};

}  // namespace lathe::cli

#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kColumns{Column{"ID", "/id"},
                              Column{"NAME", "/name"},
                              Column{"ROLE", "/role"},
                              Column{"WORKSPACE", "/workspace"},
                              Column{"CREATED", "/created", Shown::time},
                              Column{"EXPIRES", "/expires", Shown::time},
                              Column{"LAST USED", "/last_used", Shown::time},
                              Column{"REVOKED", "/revoked", Shown::time}};

base::Result<int> list(Call& call) { return call.print_list(api_path({"tokens"}), kColumns); }

}  // namespace

constinit const Command kTokenList{
    .path = "token list", .summary = "List the tokens; never the secrets themselves", .run = list};

}  // namespace lathe::cli

#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kColumns{Column{"DATASET", "/name"}, Column{"VERSION", "/version"}, Column{"KIND", "/kind"},
                              Column{"ID", "/id"}, Column{"CREATED", "/created", Shown::time}};

base::Result<int> list(Call& call) { return call.print_list(call.workspace_path({"datasets"}), kColumns); }

}  // namespace

constinit const Command kDataList{.path = "data list", .summary = "List the registered datasets", .run = list};

}  // namespace lathe::cli

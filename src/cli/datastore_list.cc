#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "DATASTORE", .help = "list its files instead", .required = false},
                                Argument{.name = "PREFIX", .help = "only those that begin so", .required = false}};
constexpr std::array kColumns{Column{"DATASTORE", "/name"}, Column{"KIND", "/kind"}, Column{"TYPE", "/type"},
                              Column{"PATH", "/path"}, Column{"DEFAULT", "/is_default"}};
constexpr std::array kFileColumns{Column{"PATH", "/path"}, Column{"SIZE", "/size", Shown::bytes},
                                  Column{"MODIFIED", "/modified", Shown::time}};

base::Result<int> list(Call& call) {
  auto datastore = call.argument_or(0, "");
  if (datastore.empty()) return call.print_list(call.workspace_path({"datastores"}), kColumns);
  auto target = call.workspace_path({"datastores", datastore, "files"}) +
                "?limit=500&prefix=" + net::encode_segment(call.argument_or(1, ""));
  return call.print_list(target, kFileColumns);
}

}  // namespace

constinit const Command kDatastoreList{.path = "datastore list",
                                       .summary = "List the datastores, or the files of one",
                                       .arguments = kArguments,
                                       .run = list};

}  // namespace lathe::cli

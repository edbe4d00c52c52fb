#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kOptions{Option{.name = "dry-run", .help = "only say what would be freed"}};
constexpr std::array kFields{Column{"dry run", "/dry_run"}, Column{"blobs freed", "/removed"},
                             Column{"bytes freed", "/bytes", Shown::bytes}};

base::Result<int> gc(Call& call) {
  std::string_view body = call.arguments.has("dry-run") ? R"({"dry_run":true})" : R"({"dry_run":false})";
  LATHE_TRY(auto text, call.api().send("POST", api_path({"store", "gc"}), body));
  return call.print_one(text, kFields);
}

}  // namespace

constinit const Command kStoreGc{
    .path = "store gc", .summary = "Free blobs that nothing names any more", .options = kOptions, .run = gc};

}  // namespace lathe::cli

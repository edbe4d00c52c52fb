#include "base/strings.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/snapshot_upload.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "DIR", .help = "the folder", .completes = Completes::folder}};
constexpr std::array kFields{Column{"snapshot", "/snapshot"}, Column{"files", "/files"},
                             Column{"bytes", "/bytes", Shown::bytes}, Column{"sent", "/sent_bytes", Shown::bytes}};

base::Result<int> put(Call& call) {
  LATHE_TRY(auto snapshot, upload_snapshot(call.api(), call.argument(0)));
  json::object out{{"snapshot", snapshot.digest.hex()},
                   {"files", snapshot.files},
                   {"bytes", snapshot.bytes},
                   {"sent_bytes", snapshot.sent_bytes}};
  return call.print_one(json::serialize(out), kFields);
}

}  // namespace

constinit const Command kStorePut{
    .path = "store put",
    .summary = "Send a folder into the store as a snapshot; only what the server lacks is sent",
    .details = "Nothing names the snapshot yet: submit a run with it, or a later `lathe store gc` frees it.",
    .arguments = kArguments,
    .run = put};

}  // namespace lathe::cli

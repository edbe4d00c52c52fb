#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kFields{Column{"key", "/key"}, Column{"secrets", "/secrets"}, Column{"unopened", "/unopened"},
                             Column{"unused keys", "/unused", Shown::list}};

base::Result<int> rotate(Call& call) {
  LATHE_TRY(auto text, call.api().send("POST", api_path({"secrets", "rotate"}), "{}"));
  LATHE_TRY(auto value, parse_json(text, "the server's answer"));
  if (text_at(value, "/unopened") != "0")
    say("some secrets have lost their keys and stay closed: bring the key files back, or set the secrets again");
  return call.print_one(text, kFields);
}

}  // namespace

constinit const Command kSecretRotateKeys{
    .path = "secret rotate-keys",
    .summary = "Give every secret of the server a new key",
    .details =
        "The new key is made in the key folder; secrets keep their values. Keys before it stay there: backups that "
        "were\n"
        "made before need them, and other servers that use the same folder. Remove their files when neither is so.\n"
        "Nothing is lost when the server is killed meanwhile: run it again.",
    .run = rotate};

}  // namespace lathe::cli

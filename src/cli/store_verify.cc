#include "base/error.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"

namespace lathe::cli {
namespace {

constexpr std::array kFields{Column{"checked", "/checked"}, Column{"bytes", "/bytes", Shown::bytes},
                             Column{"damaged", "/damaged", Shown::list}};

base::Result<int> verify(Call& call) {
  auto api = call.new_client(std::chrono::hours(24));  // every blob is read before the answer comes
  LATHE_TRY(auto text, api->send("POST", api_path({"store", "verify"}), "{}"));
  LATHE_TRY(auto value, parse_json(text, "the server's answer"));
  LATHE_TRY(auto shown, call.print_one(text, kFields));
  const auto* damaged = value.is_object() ? value.get_object().if_contains("damaged") : nullptr;
  bool whole = !damaged || !damaged->is_array() || damaged->get_array().empty();
  return whole ? shown : base::exit_status(base::Code::corrupt);
}

}  // namespace

constinit const Command kStoreVerify{
    .path = "store verify",
    .summary = "Read every blob and compare it with its digest; exit status 9 when one is damaged",
    .run = verify};

}  // namespace lathe::cli

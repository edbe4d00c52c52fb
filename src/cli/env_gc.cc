#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"

namespace lathe::cli {
namespace {

constexpr std::int64_t kMostDays = 36500, kMostGigabytes = 1'000'000;
constexpr std::array kOptions{
    Option{.name = "dry-run", .help = "only say what would be removed"},
    Option{.name = "unused-days", .value = "N", .help = "those not used for so long go", .fallback = "the site's rule"},
    Option{.name = "limit-gb", .value = "N", .help = "then those used longest ago, until the rest fits"}};
constexpr std::array kFields{Column{"dry run", "/dry_run"}, Column{"removed", "/removed", Shown::list},
                             Column{"freed", "/removed_bytes", Shown::bytes},
                             Column{"kept", "/kept_bytes", Shown::bytes}};

base::Result<int> gc(Call& call) {
  const auto& typed = call.arguments;
  json::object body{{"dry_run", typed.has("dry-run")}};
  LATHE_TRY(auto days, typed.number("unused-days", 0, 0, kMostDays));
  LATHE_TRY(auto gigabytes, typed.number("limit-gb", 0, 0, kMostGigabytes));
  if (typed.has("unused-days")) body["unused_days"] = days;
  if (typed.has("limit-gb")) body["limit_gb"] = gigabytes;
  LATHE_TRY(auto text, call.api().send("POST", api_path({"environment-cache", "gc"}), json::serialize(body)));
  return call.print_one(text, kFields);
}

}  // namespace

constinit const Command kEnvGc{
    .path = "env gc",
    .summary = "Remove environments that were not used for long",
    .details = "Locks are kept: what was removed is built again, exactly as it was, when a run needs it.",
    .options = kOptions,
    .run = gc};

}  // namespace lathe::cli

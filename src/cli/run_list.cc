#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kOptions{
    Option{.name = "experiment", .letter = 'e', .value = "NAME", .help = "only runs of this experiment"},
    Option{.name = "status", .letter = 's', .value = "STATUS", .help = "only runs in this state, e.g. Running"},
    Option{.name = "tag", .letter = 't', .value = "KEY[=VALUE]", .help = "only runs with this tag"},
    Option{
        .name = "since", .value = "TIME", .help = "only runs submitted at or after this time (2026-02-19T19:09:19Z)"},
    Option{.name = "until", .value = "TIME", .help = "only runs submitted before this time"},
    Option{.name = "archived", .help = "archived runs instead of the others"},
    Option{
        .name = "limit", .letter = 'n', .value = "N", .help = "how many runs at most, newest first", .fallback = "50"},
};
constexpr std::array kColumns{
    Column{"RUN", "/id"},
    Column{"STATUS", "/status"},
    Column{"COMPUTE", "/compute"},
    Column{"CREATED", "/created", Shown::time},
    Column{"ENDED", "/ended", Shown::time},
    Column{"ERROR", "/error/code"},
};

base::Result<int> list(Call& call) {
  LATHE_TRY(auto limit, call.arguments.number("limit", 50, 1, 1'000'000));
  std::string target = call.workspace_path({"runs"});
  char separator = '?';
  for (const char* name : {"experiment", "status", "tag", "since", "until"})
    if (auto value = call.arguments.find(name)) {
      target += fmt::format("{}{}={}", separator, name, net::encode_segment(*value));
      separator = '&';
    }
  if (call.arguments.has("archived")) target += fmt::format("{}archived=true", separator);
  return call.print_list(target, kColumns, limit);
}

}  // namespace

constinit const Command kRunList{
    .path = "run list", .summary = "List runs, newest first", .options = kOptions, .run = list};

}  // namespace lathe::cli

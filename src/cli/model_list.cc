#include "cli/call.h"
#include "cli/commands.h"

namespace lathe::cli {
namespace {

constexpr std::array kOptions{Option{.name = "name", .value = "NAME", .help = "only versions of this model"},
                              Option{.name = "tag", .value = "KEY[=VALUE]", .help = "only models with this tag"},
                              Option{.name = "run", .value = "RUN", .help = "only models of this run"},
                              Option{.name = "all", .letter = 'a', .help = "all versions, not only the newest"}};
constexpr std::array kColumns{Column{"MODEL", "/name"},
                              Column{"VERSION", "/version"},
                              Column{"FRAMEWORK", "/framework"},
                              Column{"SIZE", "/bytes", Shown::bytes},
                              Column{"RUN", "/run"},
                              Column{"CREATED", "/created", Shown::time}};

base::Result<int> list(Call& call) {
  std::string target = call.workspace_path({"models"}) + (call.arguments.has("all") ? "?latest=false" : "?latest=true");
  for (const char* filter : {"name", "tag", "run"})
    if (auto value = call.arguments.find(filter)) target += fmt::format("&{}={}", filter, net::encode_segment(*value));
  return call.print_list(target, kColumns);
}

}  // namespace

constinit const Command kModelList{
    .path = "model list", .summary = "List the registered models", .options = kOptions, .run = list};

}  // namespace lathe::cli

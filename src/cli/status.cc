#include "base/strings.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/server_lock.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kFields{Column{"server", "/server"},
                             Column{"address", "/url"},
                             Column{"version", "/version"},
                             Column{"started", "/started", Shown::time},
                             Column{"process", "/pid"},
                             Column{"state", "/state"},
                             Column{"cores", "/machine/cores"},
                             Column{"memory", "/machine/memory_bytes", Shown::bytes},
                             Column{"GPUs", "/machine/gpus", Shown::list},
                             Column{"workspaces", "/workspaces", Shown::list}};

base::Result<int> status(Call& call) {
  const auto& settings = call.settings;
  json::object out{{"server", "stopped"}, {"state", settings.state.string()}};
  if (settings.server.empty()) {
    auto holder = lock_holder(settings.state);
    if (!holder) {
      LATHE_TRY_VOID(call.print_one(json::serialize(out), kFields));
      return base::exit_status(base::Code::unavailable);
    }
    out["pid"] = *holder;
    if (auto server = read_server_file(settings.state)) out["url"] = server->url;
  } else {
    out["url"] = settings.server;
    out.erase("state");
  }
  LATHE_TRY(auto text, call.api().get(api_path({"server"})));
  LATHE_TRY(auto value, parse_json(text, "the server's answer"));
  if (const auto* told = value.if_object())
    for (const auto& pair : *told) out.insert_or_assign(pair.key(), pair.value());
  out["server"] = "running";
  return call.print_one(json::serialize(out), kFields);
}

}  // namespace

constinit const Command kStatus{.path = "status",
                                .summary = "Say whether the server runs, and where; exit status 7 when it does not",
                                .run = status};

}  // namespace lathe::cli

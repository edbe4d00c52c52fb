#include "cli/call.h"
#include "cli/commands.h"
#include "cli/server_options.h"

namespace lathe::cli {
namespace {

constexpr auto kOptions = kServerOptions;

base::Result<int> serve(Call& call) {
  LATHE_TRY(auto args, server_args(call));
  LATHE_TRY(auto ready_fd, call.arguments.number("ready-fd", -1, 0, 1'000'000));
  args.ready_fd = static_cast<int>(ready_fd);
  args.print_routes = call.arguments.has("print-routes");
  return call.programs.server(args);
}

}  // namespace

constinit const Command kServer{
    .path = "server",
    .summary = "Run the server in the foreground; `lathe up` starts it in the background",
    .details = "SIGTERM drains and stops it. Runs go on without it, and everything is delivered when it is back.",
    .options = kOptions,
    .run = serve};

}  // namespace lathe::cli

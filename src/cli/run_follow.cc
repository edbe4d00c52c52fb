// Two threads: this one writes the log, a second one tells the moves; Ctrl-C breaks both and leaves the run alone.
#include <thread>

#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/run_watch.h"
#include "cli/terminal.h"

namespace lathe::cli {

int say_run_goes_on(const std::string& runs) {
  if (runs.find(' ') == runs.npos)
    say("interrupted; the run goes on. Follow it: lathe run logs -f {0}   Stop it: lathe run cancel {0}", runs);
  else
    say("interrupted; the runs go on. Wait again: lathe run wait {0}   Stop them: lathe run cancel {0}", runs);
  return kExitInterrupted;
}

std::string describe_move(const RunMove& move, ApiClient& lookup, const RunPlace& run) {
  const bool waits = move.to == "Queued" || move.to == "Preparing";
  if (!waits && !is_terminal_status(move.to)) return move.to;
  auto text = lookup.get(run.path);
  auto value = text ? parse_json(*text, "the run") : base::Result<json::value>(json::value());
  if (!value) return move.to;
  if (waits) {
    // What it says belongs to the state that the run is in now.
    if (text_at(*value, "/status") != move.to) return move.to;
    auto reason = text_at(*value, "/waiting/reason"), when = text_at(*value, "/waiting/would_start_when");
    if (reason.empty()) return move.to;
    return fmt::format("{}: {}{}", move.to, reason, when.empty() ? "" : fmt::format(" (starts when {})", when));
  }
  auto message = text_at(*value, "/error/message");
  return message.empty() ? move.to : fmt::format("{}: {}", move.to, message);
}

base::Result<int> follow_run(Call& call, const std::string& run_id) {
  auto run = run_place(call, run_id);
  auto log_client = call.new_client(), move_client = call.new_client(), lookup = call.new_client();
  InterruptGuard guard({log_client.get(), move_client.get(), lookup.get()});

  base::Result<std::string> status = std::string();
  std::thread moves([&] {
    status = watch_run(*move_client, run, [&](const RunMove& move) { say("{}", describe_move(move, *lookup, run)); });
  });
  auto logged = follow_log(*log_client, run, {}, [](std::string_view bytes) { write_data(bytes); });
  if (!logged) move_client->interrupt();
  moves.join();

  if (!logged && logged.error().code() != base::Code::cancelled) return base::fail(std::move(logged).error());
  if (!logged) return say_run_goes_on(run_id);
  if (status) return exit_for_run(*status);
  if (status.error().code() == base::Code::cancelled) return say_run_goes_on(run_id);
  return base::fail(std::move(status).error());
}

}  // namespace lathe::cli

// Following a run: its moves from state to state, and its log. Both survive a restart of the server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/api_client.h"
#include "cli/call.h"
#include "cli/run_moves.h"

namespace lathe::cli {

// Where a run is in the API.
struct RunPlace {
  std::string id;
  std::string path;    // …/runs/{run}
  std::string events;  // the workspace's event stream
};
RunPlace run_place(const Call& call, std::string id);

// Calls `on_move` for every move of the run, from its first, until it has ended; gives the final status.
base::Result<std::string> watch_run(ApiClient& api, const RunPlace& run,
                                    const std::function<void(const RunMove&)>& on_move);

struct LogPlace {
  std::string name;  // empty: the run's main log
  std::uint64_t offset = 0;
  int attempt = 0;  // 0: the current one, and those that follow
};
// Writes the log to `sink` as it grows until the run is over.
base::Result<void> follow_log(ApiClient& api, const RunPlace& run, LogPlace place,
                              const std::function<void(std::string_view)>& sink);

// Log to stdout, moves to stderr, until the run is over or Ctrl-C; gives the exit status.
base::Result<int> follow_run(Call& call, const std::string& run_id);
// "Queued: …why", "Running", "Failed: …" for people; asks the server why a run waits.
std::string describe_move(const RunMove& move, ApiClient& lookup, const RunPlace& run);
// Says that Ctrl-C left the runs (ids, with spaces between) alone, and how to go on; gives the exit status.
int say_run_goes_on(const std::string& runs);

}  // namespace lathe::cli

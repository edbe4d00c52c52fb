// Waiting for several runs at once: one event stream of the workspace for all of them, and no polling. The stream is
// opened first and the runs' past is read then, so that no move falls between the two; a stream that breaks is opened
// again in the same way.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/run_watch.h"

namespace lathe::cli {

enum class WaitFor { all, any };

// Calls `on_move` for every move of each run, from its first. Gives the final status of each run, in their order; empty
// for those that were not over when WaitFor::any had one that was. `lookup` is a second client: the first one streams.
base::Result<std::vector<std::string>> watch_runs(
    ApiClient& api, ApiClient& lookup, std::span<const RunPlace> runs, WaitFor wait_for,
    const std::function<void(const RunPlace&, const RunMove&)>& on_move);

// What `lathe run wait` exits with: that of the worst end. Failed is worse than Canceled, and that than Completed.
int exit_for_runs(std::span<const std::string> statuses);

}  // namespace lathe::cli

// `lathe runner`: the per-node part of one run. Started by a provider with
//   LATHE_RUN, LATHE_ATTEMPT, LATHE_NODE and LATHE_RUN_TOKEN in its environment: lathe runner --url URL --work DIR
// or by hand or server, for the spool of a runner that died: lathe runner --adopt DIR/spool --url URL
// Takes over the whole process (signals, subreaper), so it is called from main and returns its exit status:
// 0 everything is delivered, else base::exit_status of what went wrong.
#pragma once

#include <filesystem>
#include <string>

namespace lathe::runner {

struct RunnerOptions {
  std::string url;
  std::filesystem::path work;   // folder of this task: DIR/spool and DIR/run are made in it
  std::filesystem::path adopt;  // not empty: deliver this spool instead
  std::string version;          // of this program, told to the server
};

int run_runner(const RunnerOptions& options);

}  // namespace lathe::runner

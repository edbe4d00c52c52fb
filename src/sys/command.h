// run_command: one child process from start to end, its output given out by the line. For tools that we drive (uv,
// interpreters, compilers): everything that the child starts, a compiler that uv started for a package, is below a
// guardian (sys/guardian.h) and ends with it: when a stop is asked for, and when we are killed. Blocking; safe on any
// thread.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lathe::sys {

struct CommandRequest {
  std::vector<std::string> argv;         // argv[0] is a path: nothing is searched for
  std::vector<std::string> environment;  // "NAME=value"
  std::string directory;                 // empty: here
  // What has left the tool's process group may live on after its end (podman's monitor, which removes the container).
  bool leaves_daemons = false;
  // argv of what tidies up after a tool that was killed, by a stop or because we were; empty: nothing does.
  std::vector<std::string> after_kill = {};
};

using LineSink = std::function<void(std::string_view line)>;

struct CommandResult {
  int status = 0;      // exit status, or 128 + the number of the signal
  std::string output;  // stdout, cut at 64 MiB
};

// stdout is collected, stderr goes to `errors` line by line (a line is cut at 64 KiB). Fails when the program cannot be
// started, and with `cancelled` when it was stopped; a bad exit status is a result.
base::Result<CommandResult> run_command(const CommandRequest& request, const LineSink& errors, std::stop_token stop);

// The variables of this process, as execve wants them.
std::vector<std::string> current_environment();
// Sets NAME=value in such a list, replacing what was there.
void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value);
void unset_variable(std::vector<std::string>& environment, std::string_view name);

// Where `program` lies on this PATH; empty when it does not.
std::string find_program(std::string_view program, std::string_view search_path);

}  // namespace lathe::sys

// The exit statuses of `lathe`, as documented: those of base::exit_status, and those that tell how a run ended.
#pragma once

#include <span>
#include <string_view>

namespace lathe::cli {

inline constexpr int kExitRunFailed = 20;
inline constexpr int kExitRunCanceled = 21;
inline constexpr int kExitInterrupted = 130;

struct ExitCode {
  int status;
  std::string_view meaning;
};

std::span<const ExitCode> exit_codes();
// The status for `wait` and `--follow`: 0 for Completed.
int exit_for_run(std::string_view run_status);

}  // namespace lathe::cli

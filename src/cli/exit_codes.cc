#include "cli/exit_codes.h"

#include <array>

namespace lathe::cli {
namespace {

constexpr std::array kExitCodes{
    ExitCode{0, "done; for wait and --follow: the run is Completed"},
    ExitCode{1, "the operating system refused something, or a bug of Lathe"},
    ExitCode{2, "wrong usage: the input is invalid or over a limit"},
    ExitCode{3, "not offered here"},
    ExitCode{4, "the token is missing, wrong, expired or lacks the permission"},
    ExitCode{5, "no such thing"},
    ExitCode{6, "conflict: the same name or id with other content, or a state that does not allow it"},
    ExitCode{7, "the server is away, busy or too slow; trying again may help"},
    ExitCode{8, "no space left on the disk"},
    ExitCode{9, "damaged data: bytes do not match their digest or format"},
    ExitCode{kExitRunFailed, "wait and --follow: the run Failed"},
    ExitCode{kExitRunCanceled, "wait and --follow: the run was Canceled"},
    ExitCode{kExitInterrupted, "interrupted by Ctrl-C; a run that was being followed goes on"},
};

}  // namespace

std::span<const ExitCode> exit_codes() { return kExitCodes; }

int exit_for_run(std::string_view run_status) {
  return run_status == "Completed" ? 0 : run_status == "Canceled" ? kExitRunCanceled : kExitRunFailed;
}

}  // namespace lathe::cli

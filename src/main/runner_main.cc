#include "main/programs.h"
#include "runner/runner.h"

namespace lathe {

int runner_main(const cli::RunnerArgs& args) {
  return runner::run_runner({.url = args.url, .work = args.work, .adopt = args.adopt, .version = LATHE_VERSION});
}

}  // namespace lathe

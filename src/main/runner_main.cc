#include "base/error.h"
#include "main/programs.h"

namespace lathe {

int runner_main(const cli::RunnerArgs&) { throw base::Error(base::Code::unsupported, "the runner is not linked yet"); }

}  // namespace lathe

#include "base/error.h"
#include "main/programs.h"

namespace lathe {

int server_main(const cli::ServerArgs&) { throw base::Error(base::Code::unsupported, "the server is not linked yet"); }

}  // namespace lathe

// What a server that puts its runs into no boxes does not keep, said where somebody trusts it with others' runs.
#pragma once

#include "cli/call.h"

namespace lathe::cli {

// Nothing where they have boxes, or the server cannot be asked.
void warn_where_runs_have_no_boxes(Call& call);

}  // namespace lathe::cli

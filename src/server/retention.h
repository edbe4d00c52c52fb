// Retention: removes what the site does not want to keep for ever, a little at a time: events of runs that have been
// over for long, and the old end of the audit trail. Runs at the start and every few hours, on the database's threads;
// who submits meanwhile waits for one small piece at most. Errors are logged, and the next round tries again.
#pragma once

#include "server/core.h"

namespace lathe::server {

// Until the scope's token fires. Ends at once where everything is kept.
rt::Task<void> keep_trimmed(Core& core);

}  // namespace lathe::server

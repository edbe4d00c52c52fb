// Sweep: removes what attempts left behind whose end a killed server or runner could not clean up after: folders of
// tasks and files of live logs. Runs once, at start, beside the normal work; one folder at a time.
#pragma once

#include "server/core.h"
#include "server/live_logs.h"

namespace lathe::server {

rt::Task<void> sweep_leftovers(Core& core, LiveLogs& logs);

}  // namespace lathe::server

// Sweep: removes what attempts left behind whose end a killed server or runner could not clean up after: folders of
// tasks and files of live logs. Runs once, at start, beside the normal
// work; one folder at a time, but for those whose runner is still ending.
#pragma once

#include "server/core.h"
#include "server/live_logs.h"

namespace lathe::server {

// The folder of a task that is over; its runner may still be ending.
rt::Task<void> clear_when_gone(Core& core, compute::TaskName task);

rt::Task<void> sweep_leftovers(Core& core, LiveLogs& logs);

}  // namespace lathe::server

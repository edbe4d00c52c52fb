#include "server/sweep.h"

#include "db/attempts.h"

namespace lathe::server {

using rt::Task;

namespace {

// Over, or its run was deleted. Asked for each one at the moment: a run may be placed while the sweep goes on.
Task<bool> is_over(Core& core, compute::TaskName task) {
  co_return co_await core.database.read([&](db::Connection& connection) {
    auto attempt = db::attempts::find(connection, task.run_sequence, task.attempt);
    return !attempt || attempt->ended;
  });
}

}  // namespace

Task<void> sweep_leftovers(Core& core, LiveLogs& logs) {
  auto cancel = core.scope.token();
  for (const auto& task : co_await core.provider.traces()) {
    cancel.check();
    if (co_await is_over(core, task)) co_await core.provider.clear(task);
  }
  co_await logs.sweep();
}

}  // namespace lathe::server

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

constexpr base::Duration kLookAgain = std::chrono::seconds(1);

}  // namespace

Task<void> clear_when_gone(Core& core, compute::TaskName task) {
  auto cancel = core.scope.token();
  while (!co_await core.provider.clear(task)) {
    auto found = co_await core.provider.find(task);
    if (found.trace == compute::Provider::Trace::alive)
      co_await core.provider.gone(found.handle, cancel);
    else
      co_await core.home.sleep(kLookAgain, cancel);
  }
}

Task<void> sweep_leftovers(Core& core, LiveLogs& logs) {
  auto cancel = core.scope.token();
  for (const auto& task : co_await core.provider.traces()) {
    cancel.check();
    if (!co_await is_over(core, task) || co_await core.provider.clear(task)) continue;
    core.scope.spawn("clear a task folder", clear_when_gone(core, task));
  }
  co_await logs.sweep();
}

}  // namespace lathe::server

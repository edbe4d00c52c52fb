#include "server/sweep.h"

#include "base/log.h"
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

void warn(compute::TaskName task, const base::Error& error) {
  base::log::warn("what a run left cannot be cleared now", {{"task", task.text()}, {"why", error.text()}});
}

// False when that is to be tried again: something of it lives, or it cannot be told whether.
Task<bool> clear_now(Core& core, compute::TaskName task) {
  try {
    co_return co_await core.provider.clear(task);
  } catch (const base::Error& error) {
    if (error.code() == base::Code::cancelled) throw;
    warn(task, error);
  }
  co_return false;
}

constexpr base::Duration kLookAgain = std::chrono::seconds(1);

}  // namespace

Task<void> clear_when_gone(Core& core, compute::TaskName task) {
  auto cancel = core.scope.token();
  while (!co_await clear_now(core, task)) {
    try {
      auto found = co_await core.provider.find(task);
      if (found.trace == compute::Provider::Trace::alive) {
        co_await core.provider.gone(found.handle, cancel);
        continue;
      }
    } catch (const base::Error& error) {
      if (error.code() == base::Code::cancelled) throw;
      warn(task, error);
    }
    co_await core.home.sleep(kLookAgain, cancel);
  }
}

Task<void> sweep_leftovers(Core& core, LiveLogs& logs) {
  auto cancel = core.scope.token();
  for (const auto& task : co_await core.provider.traces()) {
    cancel.check();
    if (!co_await is_over(core, task) || co_await clear_now(core, task)) continue;
    core.scope.spawn("clear a task folder", clear_when_gone(core, task));
  }
  co_await logs.sweep();
}

}  // namespace lathe::server

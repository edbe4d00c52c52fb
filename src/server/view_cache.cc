#include "server/view_cache.h"

#include <algorithm>

#include "db/run_inputs.h"

namespace lathe::server {

rt::Task<void> prune_views(Core& core, std::chrono::seconds unused) {
  auto wanted =
      co_await core.database.read([](db::Connection& connection) { return db::run_inputs::live_trees(connection); });
  base::UtcTime since = core.clock.utc();
  since.micros -= std::chrono::duration_cast<std::chrono::microseconds>(unused).count();
  co_await core.store_work.run([&] {
    for (const auto& kept : core.views.list())
      if (std::ranges::find(wanted, kept.tree) == wanted.end()) core.views.remove(kept.tree, since);
  });
}

}  // namespace lathe::server

#include "server/garbage.h"

#include "db/artifacts.h"
#include "server/view_cache.h"

namespace lathe::server {

rt::Task<cas::GcReport> collect_store_garbage(Core& core, Caller caller, Collection wanted, rt::CancelToken cancel) {
  cas::GcOptions options;
  options.expired_before = core.store.expired_before(wanted.lease);
  auto references = co_await core.database.read([](db::Connection& connection) {
    std::vector<cas::Reference> found;
    db::artifacts::visit_references(
        connection, [&](const base::Digest& digest, bool is_tree) { found.push_back({digest, is_tree}); });
    return found;
  });
  if (!wanted.dry_run) co_await prune_views(core, std::chrono::hours(1));
  options.dry_run = wanted.dry_run;
  cas::RootVisitor roots = [&](const std::function<void(const cas::Reference&)>& visit) -> base::Result<void> {
    for (const auto& reference : references) visit(reference);
    return {};
  };
  auto report = co_await core.store_work.run_alone("a collection", cancel, [&](const StoreWork::GoOn& go_on) {
    options.go_on = go_on;
    return base::value_or_throw(cas::collect_garbage(core.store, roots, options));
  });
  if (!wanted.dry_run) {
    auto now = core.clock.utc();
    co_await core.database.write([&](db::Connection& connection) {
      audit(connection, caller, now, "store.gc", "store",
            fmt::format("{} blobs removed", report.removed_blobs));
    });
  }
  core.metrics.add("lathe_gc_removed_bytes_total", wanted.dry_run ? 0 : report.removed_bytes);
  co_return report;
}

}  // namespace lathe::server

#include "server/disk_budget.h"

#include "base/log.h"
#include "base/strings.h"
#include "server/garbage.h"
#include "server/view_cache.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

namespace {
constexpr base::Duration kPause = std::chrono::minutes(1);
}

Task<void> DiskBudget::measure() {
  auto stats = co_await core_.store_work.run([&] { return base::value_or_throw(core_.store.stats()); });
  used_ = stats.bytes + stats.partial_bytes + stats.staged_bytes;
  core_.metrics.set("lathe_store_bytes", static_cast<double>(stats.bytes));
}

Task<void> DiskBudget::collect(std::chrono::seconds lease) {
  try {
    co_await prune_views(core_, std::chrono::minutes(1));
    auto report =
        co_await collect_store_garbage(core_, {"server", 0, "disk budget"}, {.lease = lease, .dry_run = false});
    base::log::info("collected for the disk budget",
                    {{"blobs", report.removed_blobs}, {"bytes", report.removed_bytes}});
  } catch (const Error& error) {
    // A backup holds collection off, or a manifest is damaged: then there is simply no room.
    base::log::warn("nothing collected for the disk budget", {{"why", error.text()}});
  }
  co_await measure();
}

Task<void> DiskBudget::require_room() {
  if (core_.site.disk_budget_bytes == 0) co_return;
  auto lock = co_await checking_.lock();
  if (!used_) co_await measure();
  auto now = core_.clock.steady();
  if (is_over() && (!collected_at_ || now - *collected_at_ > kPause)) {
    collected_at_ = now;
    co_await collect(core_.site.blob_lease);
    if (is_over()) co_await collect(std::chrono::hours(1));
  }
  if (is_over())
    throw Error(Code::no_space, fmt::format("the store holds {}, its budget is {}", base::human_bytes(*used_),
                                            base::human_bytes(core_.site.disk_budget_bytes)))
        .hint("delete runs that are no longer needed (lathe run delete), or raise disk_budget_gb in config.yaml");
}

}  // namespace lathe::server

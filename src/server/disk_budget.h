// DiskBudget: keeps the store within what the site allows (disk_budget_gb). When an upload would go over it, what can
// be had again goes first: unfinished uploads and blobs that nothing names, at first those past their lease, then those
// past an hour. Results of runs never go; when that is not enough, new uploads of users are refused and runs go on.
// Home thread.
#pragma once

#include <cstdint>
#include <optional>

#include "rt/async_mutex.h"
#include "server/core.h"

namespace lathe::server {

class DiskBudget {
 public:
  explicit DiskBudget(Core& core) : core_(core), checking_(core.home) {}
  // Before a user's upload is taken. Throws no_space with a hint when there is no room left to make.
  rt::Task<void> require_room();
  // These bytes have come in since.
  void count(std::uint64_t bytes) {
    if (used_) *used_ += bytes;
  }

 private:
  bool is_over() const { return used_ && *used_ >= core_.site.disk_budget_bytes; }
  rt::Task<void> measure();
  rt::Task<void> collect(std::chrono::seconds lease);

  Core& core_;
  rt::AsyncMutex checking_;                       // one collection serves all who wait
  std::optional<base::SteadyTime> collected_at_;  // not again within a minute: it costs a walk through the store
  std::optional<std::uint64_t> used_;  // bytes in the store; measured when first needed and after each collection
};

}  // namespace lathe::server

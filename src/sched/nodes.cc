#include "sched/nodes.h"

#include "base/check.h"

namespace lathe::sched {

void NodePool::set_limit(int max_nodes) {
  for (int index = max_nodes_; index < max_nodes; ++index)
    if (!busy_.contains(index) && !held_.contains(index)) down_.insert(index);
  while (!idle_.empty() && idle_.rbegin()->first >= max_nodes) stop(idle_.rbegin()->first);
  down_.erase(down_.lower_bound(max_nodes), down_.end());
  max_nodes_ = max_nodes;
}

void NodePool::start(int index, Time now) {
  LATHE_CHECK(down_.erase(index) == 1, "node {} is not down", index);
  idle_.emplace(index, now);
  idle_by_age_.emplace(now, index);
}

void NodePool::stop(int index) {
  auto found = idle_.find(index);
  LATHE_CHECK(found != idle_.end(), "node {} is not idle", index);
  idle_by_age_.erase({found->second, index});
  idle_.erase(found);
  if (index < max_nodes_) down_.insert(index);
}

void NodePool::take(int index, RunNumber run) {
  if (auto found = idle_.find(index); found != idle_.end()) {
    idle_by_age_.erase({found->second, index});
    idle_.erase(found);
  }
  down_.erase(index);
  auto [at, fresh] = busy_.emplace(index, run);
  LATHE_CHECK(fresh, "node {} is given to run {} while run {} has it", index, run, at->second);
}

void NodePool::release(int index, Time now) {
  LATHE_CHECK(busy_.erase(index) == 1, "node {} is not busy", index);
  if (index >= max_nodes_) return;
  idle_.emplace(index, now);
  idle_by_age_.emplace(now, index);
}

bool NodePool::hold(int index) {
  if (busy_.contains(index) || !held_.insert(index).second) return false;
  if (idle_.contains(index)) stop(index);
  down_.erase(index);
  return true;
}

void NodePool::let_go(int index, Time now) {
  LATHE_CHECK(held_.erase(index) == 1, "node {} is not held", index);
  if (index >= max_nodes_) return;
  idle_.emplace(index, now);
  idle_by_age_.emplace(now, index);
}

}  // namespace lathe::sched

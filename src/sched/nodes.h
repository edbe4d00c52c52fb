// NodePool: the nodes of one compute target, by index: down, idle (up without work, since when), busy with a run, or
// held: nobody may have it, because processes of a run that is over still live on it.
// A node is a right to a slice of the machine; only a busy one holds its slice, so that an idle node of one target
// never starves another. A plain value of the scheduler's state; every operation is O(log nodes).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sched/types.h"

namespace lathe::sched {

class NodePool {
 public:
  // Also when the limits change; busy nodes beyond a lowered max_nodes stay until their runs end.
  void set_limit(int max_nodes);

  int up() const { return static_cast<int>(idle_.size() + busy_.size()); }
  int idle_count() const { return static_cast<int>(idle_.size()); }
  int busy_count() const { return static_cast<int>(busy_.size()); }
  int held_count() const { return static_cast<int>(held_.size()); }
  // Nodes that no run can be given before something ends.
  int taken_count() const { return busy_count() + held_count(); }
  // How many more nodes can be given to runs now.
  int free_count() const { return static_cast<int>(idle_.size() + down_.size()); }
  const std::map<int, RunNumber>& busy() const { return busy_; }
  const std::map<int, Time>& idle() const { return idle_; }
  const std::set<int>& down() const { return down_; }
  // The idle nodes, longest idle first.
  const std::set<std::pair<Time, int>>& idle_by_age() const { return idle_by_age_; }

  void start(int index, Time now);  // down → idle
  void stop(int index);             // idle → down
  void take(int index, RunNumber run);
  void release(int index, Time now);
  bool hold(int index);  // idle or down → held; false when a run has it or it is held already
  void let_go(int index, Time now);

 private:
  int max_nodes_ = 0;
  std::map<int, RunNumber> busy_;
  std::map<int, Time> idle_;
  std::set<std::pair<Time, int>> idle_by_age_;
  std::set<int> down_;  // below max_nodes_ only
  std::set<int> held_;
};

}  // namespace lathe::sched

// The promises, checked with every commit by a bookkeeper that shares no code with what it checks. It throws Violation.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "sched/state.h"
#include "sim/store.h"
#include "sim/tasks.h"

namespace lathe::sim {

class Ledger {
 public:
  Ledger(const model::Machine& machine, const std::vector<sched::Compute>& computes);

  void committed(const Row* before, const Row& after, const std::vector<model::RunMove>& moves);
  // Acknowledged means committed: called at the moment a reply leaves the server.
  static void submit_acknowledged(const Store& store, const model::RunId& id);
  static void finish_acknowledged(const Store& store, const TaskKey& task);
  void cancel_acknowledged(const Store& store, const model::RunId& id) const;

  // The scheduler's own books agree with what is held; node limits are kept. Called after each step of a small world.
  void compare(const sched::State& state, const Store& store) const;
  // Nothing runs any more: every run has ended, nothing is held.
  void check_end(const Store& store) const;

  struct Totals {
    std::int64_t completed = 0, failed = 0, canceled = 0, attempts = 0, retries = 0, commits = 0;
  };
  const Totals& totals() const { return totals_; }

 private:
  void check_moves(const Row* before, const Row& after, const std::vector<model::RunMove>& moves);
  void check_attempts(const Row* before, const Row& after);
  void take(const Row& row);
  void give_back(const Row& row);

  sched::Resources total_, held_;
  std::map<sched::ComputeId, sched::Compute> computes_;
  std::map<sched::ComputeId, int> busy_;
  std::unordered_map<std::string, RunNumber> nodes_, gpus_;
  std::unordered_set<RunNumber> canceled_;
  Totals totals_;
};

}  // namespace lathe::sim

// One simulated world: a site, clients that submit and cancel, and faults; all from one seed.
#pragma once

#include <memory>

#include "sim/server.h"

namespace lathe::sim {

struct WorldPlan {
  std::uint64_t seed = 1;
  int runs = 60;
  Micros arrivals = 300 * kSecond;  // runs come during this time, faults as well
  Site site;
  NetworkFaults network;
  int start_failure_percent = 0;
  Micros crash_every = 0;        // on average; 0: never
  Micros disturbance_every = 0;  // a runner is killed or cut off
  Micros cancel_every = 0;
  Micros longest_run = 60 * kSecond;
  int widest_gang = 4;
};

class World {
 public:
  explicit World(const WorldPlan& plan);
  // Until nothing is left to happen, then the promises of the end. Throws Violation.
  void run();
  const Ledger::Totals& totals() const { return ledger_.totals(); }
  std::int64_t crashes() const { return crashes_; }
  std::int64_t steps() const { return steps_; }

 private:
  model::RunSpec make_spec();
  Script make_script(const TaskKey& task);
  void submit_until_acknowledged(const model::RunId& id, const model::RunSpec& spec);
  void crash();
  void open();
  void repeat(Micros every, std::function<void()> action);
  void arrive();

  WorldPlan plan_;
  Loop loop_;
  Network network_;
  Store store_;
  Ledger ledger_;
  Provider provider_;
  std::unique_ptr<Server> server_;
  std::set<std::string> acknowledged_;
  std::int64_t crashes_ = 0, steps_ = 0;
  int arrived_ = 0;
};

// A small world with every kind of trouble, its shape drawn from the seed.
WorldPlan small_world(std::uint64_t seed);
// 1,000 nodes, 100,000 runs.
WorldPlan large_world(std::uint64_t seed);

}  // namespace lathe::sim

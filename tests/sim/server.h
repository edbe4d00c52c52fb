// The control plane of the simulation: the real decisions (model/run_moves) and the real planner (sched) around a store
// that forgets what was not committed. Everything it knows besides the store is gone when it crashes; open() is the
// restart path. Nothing leaves it before the commit that it depends on.
#pragma once

#include <functional>
#include <memory>

#include "sched/plan.h"
#include "sim/ledger.h"
#include "sim/loop.h"
#include "sim/provider.h"
#include "sim/store.h"
#include "sim/tasks.h"

namespace lathe::sim {

struct Site {
  model::Machine machine;
  std::vector<sched::Compute> computes;
  bool check_each_step = true;  // compare the books after every step; too slow for the largest world
};

class Server final : public ServerPort {
 public:
  Server(Loop& loop, Store& store, Provider& provider, Ledger& ledger, const Site& site);
  ~Server() override { *alive_ = false; }

  void open();
  void submit(const model::RunId& id, const model::RunSpec& spec, Reply reply);
  void cancel(const model::RunId& id, Reply reply);
  void claim(const TaskKey& task, Reply reply) override;
  void process_ended(const TaskKey& task, Reply reply) override;
  void finish(const TaskKey& task, const model::ExitRecord& exit, Reply reply) override;
  void lost(const TaskKey& task);

  const sched::State& state() const { return state_; }

 private:
  using Decision = base::Result<model::Change>;

  void settle(RunNumber run, const Decision& decision, const Reply& reply);
  void commit_soon();
  void commit();
  void plan();
  void place(const sched::Placement& placement);
  void preempt(const sched::Preemption& preemption);
  void prepare(RunNumber run);
  void synchronize(RunNumber run);
  void push_stops(RunNumber run);
  void adopt(const Row& row);
  void arm_timer();
  void check_heads(const sched::Plan& plan) const;
  void later(Micros delay, std::function<void()> action);

  Loop& loop_;
  Store& store_;
  Provider& provider_;
  Ledger& ledger_;
  const Site& site_;
  sched::State state_;
  std::map<AttemptKey, model::EndReason> told_;  // which attempts were already told to stop, and why
  bool commit_scheduled_ = false;
  std::optional<sched::Time> armed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lathe::sim

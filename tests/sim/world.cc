#include "sim/world.h"

namespace lathe::sim {

World::World(const WorldPlan& plan)
    : plan_(plan),
      loop_(plan.seed),
      network_(loop_),
      ledger_(plan_.site.machine, plan_.site.computes),
      provider_(loop_, network_, [this](std::function<void(ServerPort&)> call) {
        network_.send([this, call = std::move(call)] {
          if (server_) call(*server_);
        });
      }) {
  network_.faults = plan_.network;
  provider_.start_failure_percent = plan_.start_failure_percent;
  provider_.on_loss = [this](const TaskKey& task) {
    if (server_) server_->lost(task);
  };
  provider_.make_script = [this](const TaskKey& task) { return make_script(task); };
  provider_.on_acknowledged = [this](const TaskKey& task) { Ledger::finish_acknowledged(store_, task); };
  store_.on_commit = [this](const Row* before, const Row& after, const auto& moves) {
    ledger_.committed(before, after, moves);
  };
}

void World::run() {
  open();
  arrive();
  repeat(plan_.crash_every, [this] { crash(); });
  repeat(plan_.disturbance_every, [this] { provider_.disturb(loop_.chance(40)); });
  repeat(plan_.cancel_every, [this] {
    const model::RunId id{fmt::format("run-{}", loop_.between(1, std::max(arrived_, 1)))};
    network_.send([this, id] {
      if (server_)
        server_->cancel(id, [this, id](const Answer& answer) {
          if (!answer.error) ledger_.cancel_acknowledged(store_, id);
        });
    });
  });
  while (loop_.step()) ++steps_;
  if (acknowledged_.size() != static_cast<std::size_t>(plan_.runs)) throw Violation("a submit was never acknowledged");
  ledger_.check_end(store_);
  const sched::State& state = server_->state();
  if (state.waiting_count() + state.running_count() != 0 || !(state.free() == sched::total_of(plan_.site.machine)))
    throw Violation("the scheduler still holds something at the end");
}

void World::open() {
  server_ = std::make_unique<Server>(loop_, store_, provider_, ledger_, plan_.site);
  server_->open();
}

void World::crash() {
  if (!server_) return;
  ++crashes_;
  server_.reset();
  store_.lose_batch();
  loop_.after(loop_.between(10 * kMillisecond, 20 * kSecond), [this] { open(); });
}

// At random intervals while runs arrive.
void World::repeat(Micros every, std::function<void()> action) {
  if (every == 0) return;
  loop_.after(loop_.between(1, 2 * every), [this, every, action] {
    if (loop_.now() > plan_.arrivals) return;
    action();
    repeat(every, action);
  });
}

void World::arrive() {
  if (arrived_ == plan_.runs) {
    network_.faults = {};  // from here on the world calms down, so that it can end
    return;
  }
  ++arrived_;
  submit_until_acknowledged({fmt::format("run-{}", arrived_)}, make_spec());
  loop_.after(loop_.between(0, 2 * plan_.arrivals / plan_.runs), [this] { arrive(); });
}

// A client tries again with the same id until it is told that its run is on disk.
void World::submit_until_acknowledged(const model::RunId& id, const model::RunSpec& spec) {
  if (acknowledged_.contains(id.value)) return;
  network_.send([this, id, spec] {
    if (!server_) return;
    server_->submit(id, spec, [this, id](const Answer&) {
      Ledger::submit_acknowledged(store_, id);
      network_.send([this, id] { acknowledged_.insert(id.value); });
    });
  });
  loop_.after(3 * kSecond, [this, id, spec] { submit_until_acknowledged(id, spec); });
}

model::RunSpec World::make_spec() {
  const auto& computes = plan_.site.computes;
  const sched::Compute& compute =
      computes[static_cast<std::size_t>(loop_.between(0, static_cast<Micros>(computes.size()) - 1))];
  model::RunSpec spec;
  spec.experiment = "sim";
  spec.command.command = {"true"};
  spec.compute = compute.id.name;
  const int widest = std::min(plan_.widest_gang, compute.max_nodes);
  spec.node_count = loop_.chance(70) ? 1 : static_cast<int>(loop_.between(1, widest));
  spec.priority = loop_.chance(80) ? 0 : static_cast<int>(loop_.between(-2, 2));
  spec.max_run_duration_seconds = loop_.between(1, plan_.longest_run / kSecond);
  spec.grace_seconds = 5;
  spec.retries = {.infrastructure = static_cast<int>(loop_.between(0, 2)),
                  .user = static_cast<int>(loop_.between(0, 1))};
  return spec;
}

Script World::make_script(const TaskKey& task) {
  const model::RunSpec& spec = store_.find(task.run)->run.spec;
  Script script;
  script.longest = spec.max_run_duration_seconds * kSecond;
  // Most end well before their limit; a few would go on beyond it.
  script.length = loop_.between(kMillisecond, loop_.chance(90) ? script.longest : 2 * script.longest);
  // About one attempt in eight fails by itself, however many nodes it has.
  const Micros fate = loop_.between(0, 100 * spec.node_count - 1);
  script.exit.reason = fate < 2   ? model::EndReason::signaled
                       : fate < 4 ? model::EndReason::out_of_memory
                                  : model::EndReason::exited;
  script.exit.exit_code = script.exit.reason == model::EndReason::exited && fate < 12 ? 1 : 0;
  script.exit.signal = script.exit.reason == model::EndReason::signaled ? 11 : 0;
  return script;
}

namespace {

constexpr std::int64_t kGib = 1LL << 30;

sched::Compute make_compute(std::string name, int cores, int gpus, int min_nodes, int max_nodes, bool low) {
  return {.id = {"ws", std::move(name)},
          .node = {"size", cores * 1000, cores * kGib, gpus},
          .min_nodes = min_nodes,
          .max_nodes = max_nodes,
          .idle = std::chrono::seconds(30),
          .priority = low ? model::VmPriority::low_priority : model::VmPriority::dedicated};
}

model::Machine make_machine(int cores, int gpus) {
  model::Machine machine{.millicores = cores * 1000, .memory_bytes = cores * kGib, .gpus = {}};
  for (int i = 0; i < gpus; ++i) machine.gpus.push_back(fmt::format("GPU-{}", i));
  return machine;
}

}  // namespace

WorldPlan small_world(std::uint64_t seed) {
  Loop draw(seed ^ 0x5eed);
  WorldPlan plan;
  plan.seed = seed;
  plan.runs = static_cast<int>(draw.between(20, 80));
  plan.arrivals = draw.between(60, 400) * kSecond;
  const int cores = static_cast<int>(draw.between(4, 12)), gpus = static_cast<int>(draw.between(0, 4));
  plan.site.machine = make_machine(cores, gpus);
  const int targets = static_cast<int>(draw.between(1, 4));
  for (int i = 0; i < targets; ++i) {
    const int size = static_cast<int>(draw.between(1, 2));
    const int node_gpus = gpus > 0 && draw.chance(40) ? 1 : 0;
    const int most = std::min(cores / size, node_gpus > 0 ? gpus : cores);
    const int max_nodes = static_cast<int>(draw.between(1, std::max(most, 1)));
    plan.site.computes.push_back(make_compute(fmt::format("c{}", i), size, node_gpus,
                                              static_cast<int>(draw.between(0, max_nodes / 2)), max_nodes,
                                              draw.chance(40)));
  }
  plan.network = {.loss_percent = static_cast<int>(draw.between(0, 15)),
                  .duplicate_percent = static_cast<int>(draw.between(0, 15)),
                  .straggler_percent = static_cast<int>(draw.between(0, 5))};
  plan.start_failure_percent = static_cast<int>(draw.between(0, 5));
  plan.crash_every = draw.chance(80) ? draw.between(5, 100) * kSecond : 0;
  plan.disturbance_every = draw.chance(80) ? draw.between(3, 60) * kSecond : 0;
  plan.cancel_every = draw.chance(80) ? draw.between(3, 60) * kSecond : 0;
  return plan;
}

WorldPlan large_world(std::uint64_t seed) {
  WorldPlan plan;
  plan.seed = seed;
  plan.runs = 100'000;
  plan.arrivals = 6'000 * kSecond;
  plan.site.machine = make_machine(1'000, 64);
  plan.site.computes = {make_compute("cpu", 1, 0, 50, 800, false), make_compute("gpu", 1, 1, 0, 64, false),
                        make_compute("wide", 4, 0, 0, 100, false), make_compute("spare", 1, 0, 0, 400, true)};
  plan.site.check_each_step = false;
  plan.network = {.loss_percent = 2, .duplicate_percent = 2, .straggler_percent = 1};
  plan.start_failure_percent = 1;
  plan.crash_every = 300 * kSecond;
  plan.disturbance_every = 2 * kSecond;
  plan.cancel_every = 2 * kSecond;
  plan.widest_gang = 32;
  return plan;
}

}  // namespace lathe::sim

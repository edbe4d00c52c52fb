// State: what the scheduler knows: the machine, the compute targets with their nodes, the waiting runs in order, and
// the running ones. Kept up to date event by event, each in O(log n); rebuilt from the database after a restart by the
// same calls. Lives on the home thread; no locks, no clock. make_plan() reads it and changes nothing; apply() takes a
// plan over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "sched/nodes.h"
#include "sched/types.h"

namespace lathe::sched {

// The order of waiting: higher priority first, then who came first.
struct QueueKey {
  int priority = 0;
  RunNumber number = 0;
  auto operator<=>(const QueueKey& other) const {
    if (auto order = other.priority <=> priority; order != 0) return order;
    return number <=> other.number;
  }
  bool operator==(const QueueKey&) const = default;
};

struct Running {
  Request request;
  std::vector<model::Slice> slices;
  Time started;
  Time latest_end;  // by its own limit; shorter once it was asked to stop
  bool stopping = false;
};

// One node of an attempt, by which what it holds is found again.
struct HeldKey {
  RunNumber run = 0;
  int attempt = 0, node = 0;
  auto operator<=>(const HeldKey&) const = default;
};

// A slice of an attempt that is over, kept from everybody else while processes of it live on.
struct HeldSlice {
  ComputeId compute;
  model::RunId run;
  model::Slice slice;
};

struct ComputeState {
  Compute compute;
  NodePool nodes;
  std::set<QueueKey> queue;
  int running = 0;  // runs, not nodes
};

// What `lathe compute show` says of a target.
struct Counts {
  int idle = 0, busy = 0, leaving = 0, up = 0, target = 0, held = 0;
  std::int64_t queue = 0;
};

class State {
 public:
  explicit State(model::Machine machine);

  // Adds a target or changes its limits.
  void put_compute(const Compute& compute);
  // `conflict` while runs wait for it or run on it.
  base::Result<void> remove_compute(const ComputeId& id);

  // The run waits from now on. Its compute must exist.
  void enqueue(const Request& request);
  // The run has these slices since `started`, whether this state planned them or a restart found them.
  void start(const Request& request, const std::vector<model::Slice>& slices, Time started);
  // It was asked to stop and is expected to be gone by `latest_end`.
  void mark_stopping(RunNumber run, Time latest_end);
  // It waits or runs no more. Unknown runs are ignored: hearing it twice is one end.
  void remove(RunNumber run, Time now);
  // The slice stays taken although its run is over; call it right after remove(), before anybody plans. What another
  // run has got meanwhile (from an earlier version, which held nothing) stays that run's.
  void hold(const HeldKey& key, HeldSlice slice);
  // Nothing of it lives any more. False when nothing was held.
  bool let_go(const HeldKey& key, Time now);
  // Takes over placements, preemptions (expected to be gone after `grace`) and node changes.
  void apply(const Plan& plan, Time now, base::Duration grace);

  // The earliest time at which something is due without any event: an idle node to stop, a node to start.
  std::optional<Time> next_wakeup(Time now) const;

  const model::Machine& machine() const { return machine_; }
  const Resources& free() const { return free_; }
  const std::set<int>& free_gpus() const { return free_gpus_; }
  const std::map<ComputeId, ComputeState>& computes() const { return computes_; }
  const ComputeState* find_compute(const ComputeId& id) const;
  const Running* find_running(RunNumber run) const;
  const Request* find_waiting(RunNumber run) const;
  // What this run takes of the machine; its compute must exist.
  Resources need(const Request& request) const;
  const std::set<std::pair<Time, RunNumber>>& ends() const { return ends_; }
  // Running ones on low-priority targets, oldest first.
  const std::set<std::pair<Time, RunNumber>>& preemptible() const { return preemptible_; }
  Counts counts(const ComputeId& id) const;
  std::vector<const HeldSlice*> held(const ComputeId& id) const;
  std::size_t held_count() const { return held_.size(); }
  std::size_t waiting_count() const { return waiting_.size(); }
  std::size_t running_count() const { return running_.size(); }

 private:
  ComputeState& compute(const ComputeId& id);
  void free_slices(const Running& running, Time now);

  model::Machine machine_;
  std::unordered_map<std::string, int> gpu_index_;
  Resources free_;
  std::set<int> free_gpus_;
  std::map<ComputeId, ComputeState> computes_;
  std::unordered_map<RunNumber, Request> waiting_;
  std::unordered_map<RunNumber, Running> running_;
  std::set<std::pair<Time, RunNumber>> ends_;
  std::set<std::pair<Time, RunNumber>> preemptible_;
  struct Hold {
    HeldSlice slice;
    bool has_node = false;  // of its compute's pool, as long as that is the same pool
    std::vector<int> gpus;  // what it really took
  };
  std::map<HeldKey, Hold> held_;
};

// "<compute>/<index>", the name of a node in slices.
std::string node_name(const ComputeId& compute, int index);

}  // namespace lathe::sched

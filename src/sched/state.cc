#include "sched/state.h"

#include "base/check.h"
#include "base/strings.h"

namespace lathe::sched {
namespace {

// The index in a node's name; a slice always carries a name that node_name() made.
int node_index(const model::Slice& slice) {
  const std::size_t slash = slice.node_name.rfind('/');
  auto index =
      slash == std::string::npos ? std::nullopt : base::parse_u64(std::string_view(slice.node_name).substr(slash + 1));
  LATHE_CHECK(index, "'{}' is not the name of a node", slice.node_name);
  return static_cast<int>(*index);
}

Resources resources_of(const model::Slice& slice) {
  return {slice.millicores, slice.memory_bytes, static_cast<std::int64_t>(slice.gpus.size())};
}

bool is_low(const ComputeState& state) { return state.compute.priority == model::VmPriority::low_priority; }

}  // namespace

std::string node_name(const ComputeId& compute, int index) { return fmt::format("{}/{}", compute.name, index); }

State::State(model::Machine machine) : machine_(std::move(machine)), free_(total_of(machine_)) {
  for (std::size_t i = 0; i < machine_.gpus.size(); ++i) {
    gpu_index_.emplace(machine_.gpus[i], static_cast<int>(i));
    free_gpus_.insert(static_cast<int>(i));
  }
}

void State::put_compute(const Compute& compute) {
  ComputeState& state = computes_[compute.id];
  state.compute = compute;
  state.nodes.set_limit(compute.max_nodes);
  for (const auto& [index, run] : state.nodes.busy()) {
    const std::pair entry(running_.at(run).started, run);
    if (is_low(state))
      preemptible_.insert(entry);
    else
      preemptible_.erase(entry);
  }
}

base::Result<void> State::remove_compute(const ComputeId& id) {
  auto found = computes_.find(id);
  if (found == computes_.end()) return base::fail(base::Code::not_found, "compute '{}' does not exist", id.name);
  const ComputeState& state = found->second;
  if (!state.queue.empty() || state.running > 0)
    return base::fail(base::Error(base::Code::conflict, fmt::format("compute '{}' has {} running and {} waiting runs",
                                                                    id.name, state.running, state.queue.size()))
                          .hint("cancel them or wait for them, then delete it"));
  // A target of the same name that is made later has a pool of its own; the machine's part stays held.
  for (auto& [key, hold] : held_)
    if (hold.slice.compute == id) hold.has_node = false;
  computes_.erase(found);
  return {};
}

ComputeState& State::compute(const ComputeId& id) {
  auto found = computes_.find(id);
  LATHE_CHECK(found != computes_.end(), "compute '{}' does not exist", id.name);
  return found->second;
}

void State::enqueue(const Request& request) {
  LATHE_CHECK(!waiting_.contains(request.number) && !running_.contains(request.number), "run {} is already here",
              request.run.value);
  compute(request.compute).queue.insert({request.priority, request.number});
  waiting_.emplace(request.number, request);
}

void State::start(const Request& request, const std::vector<model::Slice>& slices, Time started) {
  ComputeState& state = compute(request.compute);
  if (waiting_.erase(request.number) > 0) state.queue.erase({request.priority, request.number});
  auto [at, fresh] =
      running_.emplace(request.number, Running{request, slices, started, started + request.longest, false});
  LATHE_CHECK(fresh, "run {} is already running", request.run.value);
  for (const auto& slice : slices) {
    state.nodes.take(node_index(slice), request.number);
    free_ -= resources_of(slice);
    for (const auto& gpu : slice.gpus)  // a GPU that has left the machine since then cannot be given out again
      if (auto known = gpu_index_.find(gpu); known != gpu_index_.end())
        LATHE_CHECK(free_gpus_.erase(known->second) == 1, "GPU {} is given twice", gpu);
  }
  ++state.running;
  ends_.emplace(at->second.latest_end, request.number);
  if (is_low(state)) preemptible_.emplace(started, request.number);
}

void State::mark_stopping(RunNumber run, Time latest_end) {
  auto found = running_.find(run);
  if (found == running_.end() || found->second.stopping) return;
  Running& running = found->second;
  running.stopping = true;
  ends_.erase({running.latest_end, run});
  running.latest_end = std::min(running.latest_end, latest_end);
  ends_.emplace(running.latest_end, run);
}

void State::free_slices(const Running& running, Time now) {
  ComputeState& state = compute(running.request.compute);
  for (const auto& slice : running.slices) {
    state.nodes.release(node_index(slice), now);
    free_ += resources_of(slice);
    for (const auto& gpu : slice.gpus)
      if (auto known = gpu_index_.find(gpu); known != gpu_index_.end()) free_gpus_.insert(known->second);
  }
  --state.running;
}

void State::remove(RunNumber run, Time now) {
  if (auto waiting = waiting_.find(run); waiting != waiting_.end()) {
    compute(waiting->second.compute).queue.erase({waiting->second.priority, run});
    waiting_.erase(waiting);
  }
  if (auto running = running_.find(run); running != running_.end()) {
    free_slices(running->second, now);
    ends_.erase({running->second.latest_end, run});
    preemptible_.erase({running->second.started, run});
    running_.erase(running);
  }
}

void State::hold(const HeldKey& key, HeldSlice slice) {
  if (held_.contains(key)) return;
  Hold hold;
  auto found = computes_.find(slice.compute);
  hold.has_node = found != computes_.end() && found->second.nodes.hold(node_index(slice.slice));
  free_ -= resources_of(slice.slice);
  for (const auto& gpu : slice.slice.gpus)
    if (auto known = gpu_index_.find(gpu); known != gpu_index_.end() && free_gpus_.erase(known->second) == 1)
      hold.gpus.push_back(known->second);
  hold.slice = std::move(slice);
  held_.emplace(key, std::move(hold));
}

bool State::let_go(const HeldKey& key, Time now) {
  auto found = held_.find(key);
  if (found == held_.end()) return false;
  const Hold& hold = found->second;
  if (hold.has_node) compute(hold.slice.compute).nodes.let_go(node_index(hold.slice.slice), now);
  free_ += resources_of(hold.slice.slice);
  free_gpus_.insert(hold.gpus.begin(), hold.gpus.end());
  held_.erase(found);
  return true;
}

std::vector<const HeldSlice*> State::held(const ComputeId& id) const {
  std::vector<const HeldSlice*> out;
  for (const auto& [key, hold] : held_)
    if (hold.slice.compute == id) out.push_back(&hold.slice);
  return out;
}

void State::apply(const Plan& plan, Time now, base::Duration grace) {
  for (const auto& node : plan.nodes_up) compute(node.compute).nodes.start(node.index, now);
  for (const auto& placement : plan.placements) start(Request(waiting_.at(placement.number)), placement.slices, now);
  for (const auto& preemption : plan.preemptions) mark_stopping(preemption.victim, now + grace);
  for (const auto& node : plan.nodes_down) compute(node.compute).nodes.stop(node.index);
}

std::optional<Time> State::next_wakeup(Time now) const {
  std::optional<Time> next;
  for (const auto& [id, state] : computes_) {
    // A node that is held cannot be started: to wait for it here would never end.
    const int startable = state.compute.max_nodes - state.nodes.held_count();
    if (state.nodes.up() < std::min(state.compute.min_nodes, startable)) return now;
    if (state.nodes.up() <= state.compute.min_nodes || state.nodes.idle_by_age().empty()) continue;
    const Time due = state.nodes.idle_by_age().begin()->first + state.compute.idle;
    if (!next || due < *next) next = due;
  }
  return next ? std::optional(std::max(*next, now)) : next;
}

const ComputeState* State::find_compute(const ComputeId& id) const {
  auto found = computes_.find(id);
  return found == computes_.end() ? nullptr : &found->second;
}

const Running* State::find_running(RunNumber run) const {
  auto found = running_.find(run);
  return found == running_.end() ? nullptr : &found->second;
}

Resources State::need(const Request& request) const {
  return need_of(find_compute(request.compute)->compute, request.node_count, machine_);
}

const Request* State::find_waiting(RunNumber run) const {
  auto found = waiting_.find(run);
  return found == waiting_.end() ? nullptr : &found->second;
}

Counts State::counts(const ComputeId& id) const {
  Counts counts;
  const ComputeState* state = find_compute(id);
  if (!state) return counts;
  for (const auto& [index, run] : state->nodes.busy()) counts.leaving += running_.at(run).stopping ? 1 : 0;
  counts.idle = state->nodes.idle_count();
  counts.busy = state->nodes.busy_count() - counts.leaving;
  counts.up = state->nodes.up();
  counts.held = state->nodes.held_count();
  counts.queue = static_cast<std::int64_t>(state->queue.size());
  std::int64_t wanted = state->nodes.busy_count();
  for (const auto& key : state->queue) {
    if (wanted >= state->compute.max_nodes) break;
    wanted += waiting_.at(key.number).node_count;
  }
  counts.target =
      static_cast<int>(std::clamp<std::int64_t>(wanted, state->compute.min_nodes, state->compute.max_nodes));
  return counts;
}

}  // namespace lathe::sched

#include "sched/plan.h"

#include <queue>
#include <tuple>

#include "sched/timeline.h"

namespace lathe::sched {
namespace {

// Walks the waiting runs of all targets in the planner's order, a bounded number behind each head.
class Planner {
 public:
  Planner(const State& state, Time now)
      : state_(state), now_(now), free_(state.free()), next_gpu_(state.free_gpus().begin()) {}

  Plan make() {
    for (const auto& [id, compute] : state_.computes()) lines_.push_back(Line(compute));
    for (std::size_t i = 0; i < lines_.size(); ++i) push(i);
    while (!order_.empty()) {
      const std::size_t line = std::get<3>(order_.top());
      order_.pop();
      consider(lines_[line]);
      push(line);
    }
    for (const Line& line : lines_) scale(line);
    return std::move(plan_);
  }

 private:
  // Where the planner stands in one target's queue and pool.
  struct Line {
    const ComputeState* compute;
    std::set<QueueKey>::const_iterator next;
    std::map<int, Time>::const_iterator next_idle;
    std::set<int>::const_iterator next_down;
    int free_nodes;
    int idle_used = 0, down_used = 0;
    int window = kWindow;
    bool blocked = false;  // its head waits

    explicit Line(const ComputeState& state)
        : compute(&state),
          next(state.queue.begin()),
          next_idle(state.nodes.idle().begin()),
          next_down(state.nodes.down().begin()),
          free_nodes(std::min(state.nodes.free_count(), state.compute.max_nodes - state.nodes.taken_count())) {}
    bool low() const { return compute->compute.priority == model::VmPriority::low_priority; }
  };

  bool can_start_any(const Line& line) const {
    // A run without GPUs (a large gang) needs the least, so cores and memory of one node decide.
    Resources least = total_of(line.compute->compute.node);
    least.gpus = 0;
    return line.free_nodes > 0 && least.fits_in(free_);
  }

  void push(std::size_t index) {
    const Line& line = lines_[index];
    if (line.next == line.compute->queue.end() || line.window == 0) return;
    if (line.blocked && !can_start_any(line)) return;  // nobody behind the head can start either
    order_.emplace(!line.low(), line.next->priority, -line.next->number, index);
  }

  void consider(Line& line) {
    const Request& request = *state_.find_waiting((line.next++)->number);
    const bool fits = request.node_count <= line.free_nodes && state_.need(request).fits_in(free_);
    if (fits && delays_nobody(request)) return place(line, request);
    if (!line.blocked) block(line, request);
    --line.window;
  }

  // The first blocked run of a target gets a reservation; most plans never need the timeline for it.
  void block(Line& line, const Request& request) {
    line.blocked = true;
    heads_.push_back(&request);
    if (!line.low() && preempt_for(line, request)) timeline_.reset();  // what will be free when has changed
    if (timeline_) reserve(request);
  }

  void reserve(const Request& head) {
    if (auto when = timeline_->earliest(head)) timeline_->reserve(head, *when);
  }

  bool delays_nobody(const Request& request) {
    if (heads_.empty()) return true;
    if (!timeline_) {
      timeline_.emplace(state_, now_, victims_);
      for (const Request* placed : placed_) timeline_->reserve(*placed, now_);
      for (const Request* head : heads_) reserve(*head);
    }
    return timeline_->earliest(request) == now_;
  }

  void place(Line& line, const Request& request) {
    Placement placement{.number = request.number, .run = request.run, .slices = {}};
    const Resources need = state_.need(request);
    for (int rank = 0; rank < request.node_count; ++rank)
      placement.slices.push_back(cut_slice(line, rank, static_cast<int>(need.gpus) / request.node_count));
    line.free_nodes -= request.node_count;
    free_ -= need;
    if (coming_) *coming_ -= need;
    placed_.push_back(&request);
    if (timeline_) timeline_->reserve(request, now_);
    plan_.placements.push_back(std::move(placement));
  }

  // Idle nodes first, then the lowest that is down; GPUs in the machine's order.
  model::Slice cut_slice(Line& line, int rank, int gpus) {
    const bool idle = line.next_idle != line.compute->nodes.idle().end();
    const int index = idle ? (line.next_idle++)->first : *line.next_down++;
    ++(idle ? line.idle_used : line.down_used);
    const model::NodeSize& size = line.compute->compute.node;
    model::Slice slice{.node = rank,
                       .node_name = node_name(line.compute->compute.id, index),
                       .millicores = size.millicores,
                       .memory_bytes = size.memory_bytes,
                       .gpus = {}};
    for (int i = 0; i < gpus; ++i) slice.gpus.push_back(state_.machine().gpus[static_cast<std::size_t>(*next_gpu_++)]);
    return slice;
  }

  // Whether new victims were chosen.
  bool preempt_for(const Line& line, const Request& head);
  void scale(const Line& line);

  const State& state_;
  const Time now_;
  Plan plan_;
  Resources free_;
  std::set<int>::const_iterator next_gpu_;
  std::vector<Line> lines_;
  // dedicated first, then priority, then the smaller number; the index of the line comes along
  std::priority_queue<std::tuple<bool, int, RunNumber, std::size_t>> order_;
  std::vector<const Request*> heads_, placed_;
  std::optional<Timeline> timeline_;
  std::optional<Resources> coming_;  // free now or soon, less what earlier heads will take
  std::set<RunNumber> victims_;
};

// Nodes of a target whose runs have already been asked to stop.
int leaving_nodes(const State& state, const ComputeState& compute) {
  int nodes = 0;
  for (const auto& [index, run] : compute.nodes.busy()) nodes += state.find_running(run)->stopping ? 1 : 0;
  return nodes;
}

bool Planner::preempt_for(const Line& line, const Request& head) {
  if (state_.preemptible().empty()) return false;
  // Room on the machine does not help a run that lacks nodes of its own target.
  if (line.free_nodes < head.node_count && line.free_nodes + leaving_nodes(state_, *line.compute) < head.node_count)
    return false;
  if (!coming_) {
    coming_ = free_;
    for (const auto& [end, number] : state_.ends())
      if (const Running& running = *state_.find_running(number); running.stopping) *coming_ += held_by(running);
  }
  const Resources need = state_.need(head);
  Resources room = *coming_;
  std::vector<const Running*> chosen;
  for (auto it = state_.preemptible().rbegin(); it != state_.preemptible().rend() && !need.fits_in(room); ++it) {
    const Running& running = *state_.find_running(it->second);
    if (running.stopping || victims_.contains(it->second)) continue;
    room += held_by(running);
    chosen.push_back(&running);
  }
  if (!need.fits_in(room)) return false;
  // Oldest first, spare each without which it still fits.
  const std::size_t before = victims_.size();
  for (auto it = chosen.rbegin(); it != chosen.rend(); ++it) {
    Resources without = room;
    without -= held_by(**it);
    if (need.fits_in(without)) {
      room = without;
      continue;
    }
    victims_.insert((*it)->request.number);
    plan_.preemptions.push_back({.victim = (*it)->request.number, .run = (*it)->request.run, .for_run = head.number});
  }
  *coming_ = room;
  *coming_ -= need;
  return victims_.size() > before;
}

void Planner::scale(const Line& line) {
  const ComputeState& state = *line.compute;
  const ComputeId& id = state.compute.id;
  int up = state.nodes.up() + line.down_used;
  for (auto down = line.next_down; up < state.compute.min_nodes && down != state.nodes.down().end(); ++down, ++up)
    plan_.nodes_up.push_back({id, *down});
  if (line.idle_used == state.nodes.idle_count()) return;
  for (const auto& [since, index] : state.nodes.idle_by_age()) {
    if (up <= state.compute.min_nodes || since + state.compute.idle > now_) break;
    if (index < line.next_idle->first) continue;  // just given to a run
    plan_.nodes_down.push_back({id, index});
    --up;
  }
}

}  // namespace

Plan make_plan(const State& state, Time now) { return Planner(state, now).make(); }

}  // namespace lathe::sched

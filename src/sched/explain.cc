#include "sched/explain.h"

#include <tuple>

#include "base/strings.h"
#include "sched/plan.h"
#include "sched/timeline.h"

namespace lathe::sched {
namespace {

constexpr const char* kLarger = "when the compute or the machine is changed";
constexpr std::size_t kNamed = 3;  // as many runs are named; more would not be read

std::string plural(std::int64_t count, std::string_view noun) {
  return count == 1 ? fmt::format("1 {}", noun) : fmt::format("{} {}s", count, noun);
}

// "run a", "runs a and b", "runs a, b, c and 4 more".
std::string names_of(const std::vector<std::string>& runs) {
  if (runs.size() == 1) return "run " + runs[0];
  const std::size_t shown = std::min(runs.size(), kNamed);
  if (runs.size() > kNamed)
    return fmt::format("runs {} and {} more", fmt::join(runs.begin(), runs.begin() + kNamed, ", "),
                       runs.size() - kNamed);
  return fmt::format("runs {} and {}",
                     fmt::join(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(shown) - 1, ", "),
                     runs[shown - 1]);
}

std::string bytes(std::int64_t count) {
  return base::human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)));
}

std::string cores(std::int64_t millicores) { return fmt::format("{:g}", static_cast<double>(millicores) / 1000); }

// Only what is short, the dearest first: "1 GPU (0 of 2 free) and 4 cores (1 of 8 free)". More than all is in use where
// the machine has shrunk under its runs; that is said as nothing.
std::string shortage(const Resources& need, Resources free, const Resources& total) {
  free.gpus = std::max<std::int64_t>(free.gpus, 0);
  free.millicores = std::max<std::int64_t>(free.millicores, 0);
  std::vector<std::string> parts;
  if (need.gpus > free.gpus)
    parts.push_back(fmt::format("{} ({} of {} free)", plural(need.gpus, "GPU"), free.gpus, total.gpus));
  if (need.millicores > free.millicores)
    parts.push_back(fmt::format("{} {} ({} of {} free)", cores(need.millicores),
                                need.millicores == 1000 ? "core" : "cores", cores(free.millicores),
                                cores(total.millicores)));
  if (need.memory_bytes > free.memory_bytes)
    parts.push_back(fmt::format("{} of memory ({} of {} free)", bytes(need.memory_bytes), bytes(free.memory_bytes),
                                bytes(total.memory_bytes)));
  return fmt::format("{}", fmt::join(parts, " and "));
}

// Whether its end gives back any of what is short.
bool has_some(const Resources& held, const Resources& need, const Resources& free) {
  return (need.gpus > free.gpus && held.gpus > 0) || (need.millicores > free.millicores && held.millicores > 0) ||
         (need.memory_bytes > free.memory_bytes && held.memory_bytes > 0);
}

// Running ones in the order in which they end at the latest, until `enough` says that their ends suffice.
template <class Counts, class Enough>
std::string ends_that_help(const State& state, Counts counts, Enough enough) {
  std::vector<std::string> runs;
  bool stopping = true;
  for (const auto& [end, number] : state.ends()) {
    const Running& running = *state.find_running(number);
    if (!counts(running)) continue;
    runs.push_back(running.request.run.value);
    stopping = stopping && running.stopping;
    if (enough(running)) break;
  }
  if (runs.empty()) return kLarger;
  if (stopping) return fmt::format("when {} has stopped, as asked", names_of(runs));
  return fmt::format("at the latest when {} {}", names_of(runs), runs.size() == 1 ? "ends" : "end");
}

class Explainer {
 public:
  Explainer(const State& state, const Request& request)
      : state_(state), request_(request), compute_(*state.find_compute(request.compute)) {}

  Explanation explain() const {
    if (request_.node_count > compute_.compute.max_nodes)
      return {fmt::format("wants {}, but compute '{}' now has at most {}", plural(request_.node_count, "node"), name(),
                          compute_.compute.max_nodes),
              "when max_nodes of the compute is raised"};
    if (free_nodes() < request_.node_count) return lacks_nodes(free_nodes());
    const Resources need = state_.need(request_);
    if (!need.fits_in(state_.free())) return lacks_room(need);
    return behind();
  }

 private:
  int free_nodes() const { return compute_.compute.max_nodes - compute_.nodes.taken_count(); }
  bool could_start() const {
    return free_nodes() >= request_.node_count && state_.need(request_).fits_in(state_.free());
  }
  const std::string& name() const { return compute_.compute.id.name; }

  // ", after 3 runs ahead of it"; empty for the first of its queue.
  std::string after_others() const {
    int ahead = 0;
    for (auto it = compute_.queue.begin(); it != compute_.queue.end() && it->number != request_.number; ++it)
      if (++ahead > kWindow) return fmt::format(", after more than {} runs ahead of it", kWindow);
    return ahead == 0 ? "" : fmt::format(", after {} ahead of it", plural(ahead, "run"));
  }

  // ", 1 held by processes of run x that cannot be killed"; empty when no node is.
  std::string held_nodes() const {
    std::vector<std::string> runs;
    for (const HeldSlice* held : state_.held(compute_.compute.id))
      if (runs.empty() || runs.back() != held->run.value) runs.push_back(held->run.value);
    if (compute_.nodes.held_count() == 0 || runs.empty()) return "";
    return fmt::format(", {} held by processes of {} that cannot be killed", compute_.nodes.held_count(),
                       names_of(runs));
  }

  // When nothing that runs would make room, what is held must go first.
  std::string after_held(std::string when) const {
    if (when != kLarger || state_.held_count() == 0) return when;
    return "when the processes that cannot be killed are gone, or the machine was started anew";
  }

  Explanation lacks_nodes(int free_nodes) const {
    std::vector<std::string> busy;
    RunNumber last = 0;
    for (const auto& [index, run] : compute_.nodes.busy())
      if (std::exchange(last, run) != run) busy.push_back(state_.find_running(run)->request.run.value);
    std::string when = ends_that_help(
        state_, [&](const Running& running) { return running.request.compute == request_.compute; },
        [&](const Running& running) {
          return (free_nodes += static_cast<int>(running.slices.size())) >= request_.node_count;
        });
    const std::string with = busy.empty() ? "" : " with " + names_of(busy);
    return {fmt::format("waits for {} of compute '{}' (max {}, {} busy{}{})", plural(request_.node_count, "node"),
                        name(), compute_.compute.max_nodes, compute_.nodes.busy_count(), with, held_nodes()),
            after_held(when) + after_others()};
  }

  Explanation lacks_room(const Resources& need) const {
    const Resources& free = state_.free();
    std::vector<std::string> holders;
    for (const auto& [end, number] : state_.ends())
      if (const Running& running = *state_.find_running(number); has_some(held_by(running), need, free))
        holders.push_back(running.request.run.value);
    Resources room = free;
    std::string when = ends_that_help(
        state_, [&](const Running& running) { return has_some(held_by(running), need, free); },
        [&](const Running& running) { return need.fits_in(room += held_by(running)); });
    return {fmt::format("waits for {} of the machine{}", shortage(need, free, total_of(state_.machine())),
                        holders.empty() ? "" : ", busy with " + names_of(holders)),
            after_held(when) + after_others()};
  }

  // Everything it needs is free, but it is not its turn: the head of a queue has a reservation.
  Explanation behind() const {
    const Request* head = nullptr;
    for (const auto& [id, other] : state_.computes()) {
      if (other.queue.empty() || other.queue.begin()->number == request_.number) continue;
      const Request& first = *state_.find_waiting(other.queue.begin()->number);
      if (&other != &compute_ && (Explainer(state_, first).could_start() || turn(first) > turn(request_))) continue;
      if (!head || turn(first) < turn(*head)) head = &first;
    }
    if (!head) return {"everything it needs is free", "in a moment"};
    return {fmt::format("run {} of compute '{}' is ahead of it, and it must not be delayed", head->run.value,
                        head->compute.name),
            fmt::format("when run {} has started{}", head->run.value, after_others())};
  }

  // The planner's order: dedicated targets first, then by priority, then by submission.
  std::tuple<bool, QueueKey> turn(const Request& request) const {
    const bool is_low = state_.find_compute(request.compute)->compute.priority == model::VmPriority::low_priority;
    return {is_low, QueueKey{request.priority, request.number}};
  }

  const State& state_;
  const Request& request_;
  const ComputeState& compute_;
};

}  // namespace

std::optional<Explanation> explain(const State& state, RunNumber run) {
  const Request* request = state.find_waiting(run);
  if (!request) return std::nullopt;
  return Explainer(state, *request).explain();
}

}  // namespace lathe::sched

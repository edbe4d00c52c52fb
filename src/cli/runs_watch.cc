#include "cli/runs_watch.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/event_stream.h"
#include "cli/exit_codes.h"

namespace lathe::cli {
namespace {

class RunsWatch {
 public:
  using OnMove = std::function<void(const RunPlace&, const RunMove&)>;

  RunsWatch(ApiClient& api, ApiClient& lookup, std::span<const RunPlace> runs, WaitFor wait_for, const OnMove& on_move)
      : api_(api), lookup_(lookup), runs_(runs), wait_for_(wait_for) {
    for (const auto& run : runs)
      filters_.try_emplace(run.id, [&on_move, &run](const RunMove& move) { on_move(run, move); });
  }

  base::Result<std::vector<std::string>> watch() {
    for (int retries = 0;; ++retries) {
      auto before = last_move();
      auto streamed = stream();
      if (is_over()) return statuses();
      if (!past_) return base::fail(std::move(past_).error());
      if (!streamed && !(all_known_ && is_passing(streamed.error()))) return base::fail(std::move(streamed).error());
      if (last_move() != before) retries = 0;
      LATHE_TRY_VOID(api_.back_off(retries));
    }
  }

 private:
  base::Result<net::ClientResponse> stream() {
    bool caught_up = false;
    EventStream events([&](const EventStream::Event& event) {
      auto value = parse_json(event.data, "an event");
      if (!value || is_over()) return;
      if (auto filter = filters_.find(text_at(*value, "/run_id")); filter != filters_.end())
        filter->second.offer(move_from(*value));
    });
    auto sink = [&](std::string_view bytes) -> base::Result<void> {
      // The first bytes say that the stream has begun: what is not in it is in the past.
      if (!std::exchange(caught_up, true)) past_ = read_past();
      if (!past_) return base::fail(past_.error());
      events.feed(bytes);
      if (is_over()) return base::fail(base::Code::cancelled, "what was waited for is over");
      return {};
    };
    return api_.exchange_once([&](net::HttpClient& http) { return http.download(target(), sink, {}, true); });
  }

  std::string target() const {
    if (filters_.size() > 1) return runs_.front().events;
    return fmt::format("{}?run={}", runs_.front().events, net::encode_segment(runs_.front().id));
  }

  base::Result<void> read_past() {
    for (const auto& run : runs_) {
      MoveFilter& filter = filters_.at(run.id);
      if (!filter.final_status().empty()) continue;
      LATHE_TRY(auto moves, past_moves(lookup_, run.path));
      for (const auto& move : moves) filter.offer(move);
      if (wait_for_ == WaitFor::any && is_over()) break;
    }
    all_known_ = true;
    api_.be_patient();
    lookup_.be_patient();
    return {};
  }

  bool is_over() const {
    auto has_ended = [](const auto& entry) { return !entry.second.final_status().empty(); };
    return wait_for_ == WaitFor::any ? std::ranges::any_of(filters_, has_ended)
                                     : std::ranges::all_of(filters_, has_ended);
  }
  std::int64_t last_move() const {
    std::int64_t last = 0;
    for (const auto& [id, filter] : filters_) last = std::max(last, filter.last());
    return last;
  }
  std::vector<std::string> statuses() const {
    std::vector<std::string> out;
    for (const auto& run : runs_) out.push_back(filters_.at(run.id).final_status());
    return out;
  }

  ApiClient &api_, &lookup_;
  const std::span<const RunPlace> runs_;
  const WaitFor wait_for_;
  std::map<std::string, MoveFilter, std::less<>> filters_;  // by run id
  base::Result<void> past_;
  bool all_known_ = false;  // the server has answered for every run; from then on its trouble passes
};

}  // namespace

base::Result<std::vector<std::string>> watch_runs(
    ApiClient& api, ApiClient& lookup, std::span<const RunPlace> runs, WaitFor wait_for,
    const std::function<void(const RunPlace&, const RunMove&)>& on_move) {
  return RunsWatch(api, lookup, runs, wait_for, on_move).watch();
}

int exit_for_runs(std::span<const std::string> statuses) {
  auto has = [&](std::string_view status) { return std::ranges::find(statuses, status) != statuses.end(); };
  return exit_for_run(has("Failed") ? "Failed" : has("Canceled") ? "Canceled" : "Completed");
}

}  // namespace lathe::cli

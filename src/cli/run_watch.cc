#include "cli/run_watch.h"

#include <algorithm>

#include "base/strings.h"
#include "cli/event_stream.h"
#include "cli/exit_codes.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

std::int64_t integer_at(const json::value& value, std::string_view pointer) {
  return static_cast<std::int64_t>(base::parse_u64(text_at(value, pointer)).value_or(0));
}

base::Result<net::ClientResponse> stream_moves(ApiClient& api, const RunPlace& run, MoveFilter& filter) {
  EventStream events([&](const EventStream::Event& event) {
    auto value = parse_json(event.data, "an event");
    if (value && text_at(*value, "/run_id") == run.id) filter.offer(move_from(*value));
  });
  auto target = fmt::format("{}?after={}&run={}", run.events, filter.last(), net::encode_segment(run.id));
  return api.exchange_once([&](net::HttpClient& http) {
    auto sink = [&](std::string_view bytes) -> base::Result<void> {
      events.feed(bytes);
      if (!filter.final_status().empty()) return base::fail(base::Code::cancelled, "the run has ended");
      return {};
    };
    return http.download(target, sink);  // the server is never silent for long
  });
}

}  // namespace

RunPlace run_place(const Call& call, std::string id) {
  std::string path = call.workspace_path({"runs", id});
  return {.id = std::move(id), .path = std::move(path), .events = call.workspace_path({"events"})};
}

base::Result<std::string> watch_run(ApiClient& api, const RunPlace& run,
                                    const std::function<void(const RunMove&)>& on_move) {
  MoveFilter filter(on_move);
  for (int retries = 0;; ++retries) {
    // The list first: whatever happened while there was no stream is in it.
    LATHE_TRY(auto moves, past_moves(api, run.path));
    api.be_patient();
    auto before = filter.last();
    for (const auto& move : moves) filter.offer(move);
    if (!filter.final_status().empty()) return filter.final_status();
    auto streamed = stream_moves(api, run, filter);
    if (!filter.final_status().empty()) return filter.final_status();
    if (!streamed && !is_passing(streamed.error())) return base::fail(std::move(streamed).error());
    if (filter.last() != before) retries = 0;
    LATHE_TRY_VOID(api.back_off(retries));
  }
}

base::Result<void> follow_log(ApiClient& api, const RunPlace& run, LogPlace place,
                              const std::function<void(std::string_view)>& sink) {
  LATHE_TRY(auto first, api.get(run.path));
  LATHE_TRY(auto described, parse_json(first, "the run"));
  if (place.name.empty()) place.name = text_at(described, "/log");
  api.be_patient();
  bool only_this_attempt = place.attempt > 0;
  int attempt = only_this_attempt ? place.attempt : std::max(1, static_cast<int>(integer_at(described, "/attempt")));
  for (int retries = 0;; ++retries) {
    auto before = place.offset;
    auto target = fmt::format("{}/logs?follow=true&offset={}", run.path, place.offset);
    if (!place.name.empty()) target += "&name=" + net::encode_segment(place.name);
    if (only_this_attempt || attempt > 1) target += fmt::format("&attempt={}", attempt);
    auto streamed = api.exchange_once([&](net::HttpClient& http) {
      return http.download(
          target,
          [&](std::string_view bytes) -> base::Result<void> {
            sink(bytes);
            place.offset += bytes.size();
            return {};
          },
          {}, true);
    });
    if (!streamed && !is_passing(streamed.error())) return base::fail(std::move(streamed).error());
    if (streamed) {
      // A clean end is the end of the run, of this attempt, or of the server.
      LATHE_TRY(auto text, api.get(run.path));
      LATHE_TRY(auto value, parse_json(text, "the run"));
      if (!only_this_attempt && integer_at(value, "/attempt") > attempt) {
        ++attempt, place.offset = 0, retries = -1;
        say("attempt {}", attempt);
        continue;
      }
      if (is_terminal_status(text_at(value, "/status")) || only_this_attempt) return {};
    }
    if (place.offset != before) retries = 0;
    LATHE_TRY_VOID(api.back_off(retries));
  }
}

}  // namespace lathe::cli

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/run_watch.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "RUN", .help = "the run's id"}};
constexpr std::array kOptions{
    Option{.name = "follow", .letter = 'f', .help = "go on until the run is over; Ctrl-C leaves the run alone"},
    Option{.name = "name",
           .value = "PATH",
           .help = "which log, e.g. azureml-logs/70_driver_log_1.txt",
           .fallback = "the main one"},
    Option{.name = "offset", .value = "BYTES", .help = "begin here", .fallback = "0"},
    Option{.name = "attempt", .value = "N", .help = "which attempt", .fallback = "the latest"},
};
constexpr std::array kExamples{Example{"lathe run logs -f mnist_1550603179_109029bb", "follow a run's output"}};

base::Result<int> print_log(Call& call, const RunPlace& run, const LogPlace& place) {
  auto target = fmt::format("{}/logs?follow=false&offset={}", run.path, place.offset);
  if (!place.name.empty()) target += "&name=" + net::encode_segment(place.name);
  if (place.attempt > 0) target += fmt::format("&attempt={}", place.attempt);
  LATHE_TRY_VOID(call.api().exchange_once([&](net::HttpClient& http) {
    return http.download(target, [](std::string_view bytes) { return write_data(bytes), base::Result<void>{}; });
  }));
  return 0;
}

base::Result<int> logs(Call& call) {
  auto run = run_place(call, call.argument(0));
  LogPlace place;
  LATHE_TRY(auto offset, call.arguments.number("offset", 0, 0, std::int64_t{1} << 60));
  LATHE_TRY(auto attempt, call.arguments.number("attempt", 0, 1, 1'000'000));
  place.name = call.arguments.value_or("name", "");
  place.offset = static_cast<std::uint64_t>(offset);
  place.attempt = static_cast<int>(attempt);
  if (!call.arguments.has("follow")) return print_log(call, run, place);

  InterruptGuard guard({&call.api()});
  auto followed = follow_log(call.api(), run, place, [](std::string_view bytes) { write_data(bytes); });
  if (followed) return 0;
  if (followed.error().code() == base::Code::cancelled) return say_run_goes_on(run.id);
  return base::fail(std::move(followed).error());
}

}  // namespace

constinit const Command kRunLogs{.path = "run logs",
                                 .summary = "Print a run's log",
                                 .options = kOptions,
                                 .arguments = kArguments,
                                 .examples = kExamples,
                                 .run = logs};

}  // namespace lathe::cli

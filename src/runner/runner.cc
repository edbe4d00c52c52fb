#include "runner/runner.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "base/strings.h"
#include "runner/http_link.h"
#include "runner/snapshot.h"
#include "runner/task.h"
#include "sys/process.h"

namespace lathe::runner {
namespace {

// The value leaves the environment, also the copy that /proc/PID/environ shows.
std::string take_variable(const char* name) {
  char* value = std::getenv(name);
  if (!value) return {};
  std::string out = value;
  ::explicit_bzero(value, out.size());
  ::unsetenv(name);
  return out;
}

base::Result<int> parse_small(std::string_view name, const std::string& text) {
  auto number = base::parse_u64(text);
  if (!number || *number > 1'000'000)
    return base::fail(base::Code::invalid, "{} is not a number: {}", name, base::printable(text));
  return static_cast<int>(*number);
}

base::Result<SpoolHeader> take_header() {
  SpoolHeader header;
  header.token = take_variable("LATHE_RUN_TOKEN");
  header.run = take_variable("LATHE_RUN");
  LATHE_TRY(header.attempt, parse_small("LATHE_ATTEMPT", take_variable("LATHE_ATTEMPT")));
  LATHE_TRY(header.node, parse_small("LATHE_NODE", take_variable("LATHE_NODE")));
  if (header.token.empty() || header.run.empty())
    return base::fail(base::Error(base::Code::invalid, "LATHE_RUN and LATHE_RUN_TOKEN are not set")
                          .hint("a runner is started by a compute provider; to deliver a spool use --adopt"));
  return header;
}

// The server has raised its own limit, and limits are inherited: the run gets the one from before.
void restore_descriptor_limit() {
  auto wanted = base::parse_u64(take_variable("LATHE_DESCRIPTORS"));
  rlimit limit{};
  if (!wanted || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(*wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

base::Result<void> run(const RunnerOptions& options) {
  if (!options.adopt.empty()) {
    auto make_link = [&](const SpoolHeader& header) { return make_http_link(options.url, header, options.version); };
    return adopt_spool({.spool = options.adopt, .backoff = {}}, make_link);
  }
  LATHE_TRY(SpoolHeader header, take_header());
  std::optional<wire::BoxRules> box;
  if (auto text = take_variable(wire::kBoxVariable); !text.empty()) {
    LATHE_TRY(box, wire::decode_box_rules(text));
  }
  LinkFactory make_link = [&] { return make_http_link(options.url, header, options.version); };
  TaskOptions task{.work = std::filesystem::absolute(options.work),
                   .header = header,
                   .url = options.url,
                   .backoff = {},
                   .deliver_snapshot = write_snapshot,
                   .box = std::move(box)};
  return run_task(task, make_link);
}

}  // namespace

int run_runner(const RunnerOptions& options) {
  sys::protect_memory();
  restore_descriptor_limit();
  std::signal(SIGPIPE, SIG_IGN);  // a closed stderr or connection is an error of that write, not the end of the run
  auto ended = run(options);
  if (ended) return 0;
  base::log::error("runner ended", {{"code", base::code_name(ended.error().code())},
                                    {"message", ended.error().text()},
                                    {"hint", ended.error().hint()}});
  return base::exit_status(ended.error().code());
}

}  // namespace lathe::runner

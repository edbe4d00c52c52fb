// lathe env build, builds
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/env_fields.h"
#include "cli/exit_codes.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "NAME[:VERSION]",
                                         .help = "its name, and its version unless it is the newest; not with --file",
                                         .required = false}};
constexpr std::array kOptions{
    Option{.name = "file",
           .value = "FILE",
           .help = "a definition that is not registered (azureml_environment.json)",
           .completes = Completes::file},
    Option{.name = "refresh", .help = "resolve anew although there is a lock"},
    Option{.name = "log", .letter = 'l', .help = "print the whole log instead of one line that changes"},
    Option{.name = "no-wait", .help = "return when the build has begun"},
};
constexpr std::array kExamples{
    Example{"lathe env build AzureML-TensorFlow-2.2-GPU", "have it ready before the first run"}};
constexpr std::array kColumns{
    Column{"BUILD", "/id"},     Column{"ENVIRONMENT", "/environment"},      Column{"VERSION", "/version"},
    Column{"STATE", "/state"},  Column{"STARTED", "/started", Shown::time}, Column{"ENDED", "/ended", Shown::time},
    Column{"BY", "/created_by"}};

// The log as it grows: whole to stderr, or its last line on one line of the terminal.
class LogView {
 public:
  LogView(std::string what, bool whole) : whole_(whole || !StatusLine::is_possible()), status_(std::move(what)) {}

  void add(std::string_view bytes) {
    partial_ += bytes;
    for (std::size_t end; (end = partial_.find('\n')) != partial_.npos; partial_.erase(0, end + 1)) {
      auto line = std::string_view(partial_).substr(0, end);
      if (whole_)
        write_talk(line);
      else
        status_.set(line);
    }
  }

 private:
  bool whole_;
  StatusLine status_;
  std::string partial_;
};

bool is_over(const json::value& build) { return !text_at(build, "/ended").empty(); }

// Until the build is over, also when the server is started again meanwhile.
base::Result<json::value> follow(Call& call, const std::string& path, LogView& view) {
  std::uint64_t offset = 0;
  for (int retries = 0;; ++retries) {
    auto target = fmt::format("{}/log?follow=true&offset={}", path, offset);
    auto streamed = call.api().exchange_once([&](net::HttpClient& http) {
      return http.download(target, [&](std::string_view bytes) {
        offset += bytes.size();
        retries = 0;
        return view.add(bytes), base::Result<void>{};
      });
    });
    if (!streamed && !is_passing(streamed.error())) return base::fail(std::move(streamed).error());
    auto text = call.api().get(path);
    if (!text && !is_passing(text.error())) return base::fail(std::move(text).error());
    if (text) {
      LATHE_TRY(auto build, parse_json(*text, "the build"));
      if (is_over(build)) return build;
    }
    LATHE_TRY_VOID(call.api().back_off(retries));
  }
}

base::Result<std::string> begin(Call& call) {
  json::object body{{"refresh", call.arguments.has("refresh")}};
  auto name = call.argument_or(0, ""), file = call.arguments.value_or("file", "");
  if (name.empty() == file.empty())
    return base::fail(base::Error(base::Code::invalid, "give either the name of an environment or --file FILE"));
  if (file.empty()) {
    auto [environment, version] = parse_named_version(name);
    if (!version.empty()) body["version"] = version;
    return call.api().send("POST", call.workspace_path({"environments", environment, "builds"}), json::serialize(body));
  }
  LATHE_TRY(auto text, read_small_file(file));
  LATHE_TRY(body["definition"], parse_json(text, file));
  return call.api().send("POST", call.workspace_path({"environment-builds"}), json::serialize(body));
}

base::Result<int> build(Call& call) {
  LATHE_TRY(auto text, begin(call));
  LATHE_TRY(auto build, parse_json(text, "the build"));
  if (call.arguments.has("no-wait")) return call.print_one(text, kBuildFields);
  const auto id = text_at(build, "/id");
  InterruptGuard guard({&call.api()});
  base::Result<json::value> ended;
  {
    LogView view(fmt::format("build {}", id), call.arguments.has("log"));
    ended = follow(call, call.workspace_path({"environment-builds", id}), view);
  }
  if (!ended && ended.error().code() == base::Code::cancelled) {
    say("interrupted; the build goes on. lathe env builds shows it");
    return kExitInterrupted;
  }
  if (!ended) return base::fail(std::move(ended).error());
  if (text_at(*ended, "/state") == "failed")
    return base::fail(
        base::Error(base::code_from_name(text_at(*ended, "/error/code")), text_at(*ended, "/error/message"))
            .hint(text_at(*ended, "/error/hint")));
  return call.print_one(json::serialize(*ended), kBuildFields);
}

base::Result<int> builds(Call& call) {
  return call.print_list(call.workspace_path({"environment-builds"}), kColumns, 50);
}

}  // namespace

constinit const Command kEnvBuild{
    .path = "env build",
    .summary = "Lock an environment and put it on this machine, before a run needs it",
    .details =
        "One that is here already is checked, and built again where it is damaged. Ctrl-C leaves the build alone.",
    .options = kOptions,
    .arguments = kArguments,
    .examples = kExamples,
    .run = build};

constinit const Command kEnvBuilds{.path = "env builds", .summary = "List the last builds", .run = builds};

}  // namespace lathe::cli

#include <unistd.h>

#include "base/strings.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/named_version.h"
#include "cli/run_data.h"
#include "cli/run_id.h"
#include "cli/run_watch.h"
#include "cli/snapshot_upload.h"
#include "cli/terminal.h"
#include "model/names.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::array kOptions{
    Option{.name = "experiment",
           .letter = 'e',
           .value = "NAME",
           .help = "the experiment that the run belongs to",
           .fallback = "default"},
    Option{.name = "source",
           .value = "DIR",
           .help = "the folder with the code; it becomes the run's snapshot",
           .fallback = "this folder with --script, none with --command",
           .completes = Completes::folder},
    Option{.name = "script",
           .value = "FILE",
           .help = "a Python script in the source folder",
           .completes = Completes::file},
    Option{.name = "command", .help = "what follows -- is the whole command, not a script's arguments"},
    Option{.name = "python",
           .value = "PATH",
           .help = "the interpreter for --script",
           .fallback = "python3 on the PATH",
           .completes = Completes::file},
    Option{.name = "environment",
           .value = "NAME[:VERSION]",
           .help = "a registered or curated environment, which is built when it is not here; instead of --python"},
    Option{.name = "compute", .letter = 'c', .value = "NAME", .help = "the compute target", .fallback = "local"},
    Option{.name = "nodes", .value = "N", .help = "how many nodes; all start or none", .fallback = "1"},
    Option{.name = "env", .value = "KEY=VALUE", .help = "an environment variable", .repeated = true},
    kInputOption,
    kReferenceOption,
    kOutputOption,
    kRegisterOption,
    kOverwriteOption,
    Option{.name = "tag", .letter = 't', .value = "KEY=VALUE", .help = "a tag", .repeated = true},
    Option{.name = "display-name", .value = "TEXT", .help = "a name for people"},
    Option{.name = "retries", .value = "N", .help = "new attempts after a lost node or a preemption", .fallback = "0"},
    Option{
        .name = "user-retries", .value = "N", .help = "new attempts after the script itself failed", .fallback = "0"},
    Option{.name = "priority", .value = "N", .help = "higher ones start first", .fallback = "0"},
    Option{.name = "max-seconds", .value = "S", .help = "end the run after this time", .fallback = "2592000"},
    Option{.name = "grace", .value = "S", .help = "between SIGTERM and SIGKILL", .fallback = "30"},
    Option{.name = "id", .value = "ID", .help = "the run's id; the same id with the same content is the same run"},
    Option{.name = "follow", .letter = 'f', .help = "show the log and the moves until the run is over"},
};
constexpr std::array kExamples{
    Example{"lathe run submit -e mnist --source ./src --script train.py -f -- --epochs 3", "train, and watch it"},
    Example{"lathe run submit --command -- nvidia-smi", "run a plain command"},
    Example{"lathe run submit --script train.py --input mnist=mnist:2 -- --data '$AZUREML_DATAREFERENCE_mnist'",
            "train on a dataset"},
    Example{"lathe run submit --script prepare.py --data-reference raw=workspaceblobstore:scans@download "
            "--output-to clean=workspaceblobstore:clean --register-output clean=scans",
            "make a dataset of files in a datastore"},
};
constexpr std::array kFields{Column{"run", "/id"}, Column{"status", "/status"}, Column{"notes", "/notes", Shown::list}};

base::Error usage(std::string message) {
  return base::Error(base::Code::invalid, std::move(message))
      .hint("lathe run submit --script train.py [-- ARGS…], or --command -- PROGRAM ARGS…");
}

base::Result<std::string> find_interpreter(const Call& call) {
  if (auto typed = call.arguments.find("python")) return (fs::current_path() / *typed).string();
  const char* path = std::getenv("PATH");
  for (auto folder : base::split(path ? path : "", ':')) {
    fs::path candidate = fs::path(folder) / "python3";
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return fs::absolute(candidate).string();
  }
  return base::fail(base::Error(base::Code::not_found, "there is no python3 on the PATH")
                        .hint("name the interpreter: --python PATH"));
}

json::object text_map(const std::vector<std::pair<std::string, std::string>>& pairs) {
  json::object out;
  for (const auto& [key, value] : pairs) out[key] = value;
  return out;
}

// What is to be run: the script or the command, and the environment it runs in.
base::Result<void> add_program(const Call& call, json::object& body) {
  const auto& typed = call.arguments;
  auto script = typed.find("script");
  if (script.has_value() == typed.has("command")) return base::fail(usage("give either --script or --command"));
  if (!script && typed.rest.empty()) return base::fail(usage("--command wants the command after --"));
  json::array words(typed.rest.begin(), typed.rest.end());
  LATHE_TRY(auto variables, typed.pairs("env"));
  json::object environment{{"variables", text_map(variables)}};
  if (auto named = typed.find("environment")) {
    if (typed.has("python")) return base::fail(usage("--environment brings its own Python; leave --python out"));
    auto [name, version] = parse_named_version(*named);
    environment["name"] = name;
    if (!version.empty()) environment["version"] = version;
  }
  if (script) {
    if (!typed.has("environment")) {
      LATHE_TRY(environment["interpreter"], find_interpreter(call));
    }
    body["script"] = *script;
    body["arguments"] = std::move(words);
  } else {
    if (typed.has("python")) return base::fail(usage("--python goes with --script; a --command names its own program"));
    body["command"] = std::move(words);
  }
  body["environment"] = std::move(environment);
  return {};
}

struct NumberField {
  std::string_view option, field;
  std::int64_t least, most;
};
constexpr std::array kNumbers{
    NumberField{"nodes", "node_count", 1, model::kMaxNodes},
    NumberField{"priority", "priority", -model::kMaxPriority, model::kMaxPriority},
    NumberField{"max-seconds", "max_run_duration_seconds", 1, model::kMaxRunSeconds},
    NumberField{"grace", "grace_seconds", 0, model::kMaxGraceSeconds},
};

base::Result<void> add_limits(const Call& call, json::object& body) {
  const auto& typed = call.arguments;
  for (const auto& number : kNumbers) {
    if (!typed.has(number.option)) continue;
    LATHE_TRY(auto value, typed.number(number.option, 0, number.least, number.most));
    body[number.field] = value;
  }
  LATHE_TRY(auto infrastructure, typed.number("retries", 0, 0, model::kMaxRetries));
  LATHE_TRY(auto user, typed.number("user-retries", 0, 0, model::kMaxRetries));
  body["retries"] = {{"infrastructure", infrastructure}, {"user", user}};
  return {};
}

base::Result<void> add_snapshot(Call& call, json::object& body) {
  auto source = call.arguments.find("source");
  if (!source && !call.arguments.has("script")) return {};
  fs::path folder = source.value_or(".");
  // A misspelt script is told before a gigabyte is sent for it.
  if (auto script = call.arguments.find("script"); script && !fs::exists(folder / *script))
    return base::fail(base::Error(base::Code::invalid,
                                  fmt::format("there is no script {} in {}", base::printable(*script), folder.string()))
                          .hint("--script is relative to --source")
                          .field("script"));
  LATHE_TRY(auto snapshot, upload_snapshot(call.api(), folder));
  say("snapshot: {} files, {}, sent {}", snapshot.files, base::human_bytes(snapshot.bytes),
      base::human_bytes(snapshot.sent_bytes));
  body["snapshot"] = snapshot.digest.hex();
  return {};
}

base::Result<int> submit(Call& call) {
  const auto& typed = call.arguments;
  json::object body;
  std::string experiment = typed.value_or("experiment", "default");
  std::string id = typed.value_or("id", make_run_id(experiment));
  body["id"] = id;
  body["experiment"] = experiment;
  body["compute"] = typed.value_or("compute", "local");
  if (auto name = typed.find("display-name")) body["display_name"] = *name;
  LATHE_TRY_VOID(add_program(call, body));
  LATHE_TRY_VOID(add_limits(call, body));
  LATHE_TRY(auto tags, typed.pairs("tag"));
  body["tags"] = text_map(tags);
  LATHE_TRY_VOID(add_run_data(call, body));
  LATHE_TRY_VOID(add_snapshot(call, body));
  // Repeated after network trouble: the id is already made, so there is never a second run.
  LATHE_TRY(auto answer, call.api().send("POST", call.workspace_path({"runs"}), json::serialize(body)));
  if (!typed.has("follow")) return call.print_one(answer, kFields);
  say("run {}", id);
  return follow_run(call, id);
}

}  // namespace

constinit const Command kRunSubmit{
    .path = "run submit",
    .summary = "Submit a run: a Python script with its folder, or a plain command",
    .details =
        "The id is made here, before anything is sent; after network trouble the submit is repeated with the same id\n"
        "and never makes a second run. With --follow the exit status tells how the run ended.\n"
        "The path of an input or output is in $AZUREML_DATAREFERENCE_NAME, also in ARGS. Inputs have the modes mount\n"
        "(read-only, the default), download (a private copy) and direct (only the dataset's id), with the path where "
        "the\n"
        "run sees them; outputs upload (at the end, the default) and mount (already while the run works). Without a "
        "path an\n"
        "output goes to dataset/{run-id}/NAME.",
    .options = kOptions,
    .rest = "ARGS",
    .examples = kExamples,
    .run = submit};

}  // namespace lathe::cli

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/strings.h"
#include "launch/expand.h"
#include "launch/launcher.h"

namespace lathe::launch {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// As execvp does, but with the process's own PATH and folder: "./tool" is a file of the run folder.
base::Result<std::string> find_program(const std::string& name, const std::string& search_path,
                                       const fs::path& directory) {
  if (name.find('/') != std::string::npos) {
    fs::path path = directory / name;  // an absolute name stays as it is
    if (is_program(path)) return path.string();
    return base::fail(
        base::Error(base::Code::not_found, fmt::format("{} is not an executable file", base::printable(name)))
            .hint("the path is relative to the snapshot; is the file in it, with its executable bit?"));
  }
  for (auto folder : base::split(search_path, ':'))
    if (fs::path path = directory / fs::path(folder) / name; !name.empty() && is_program(path)) return path.string();
  return base::fail(base::Error(base::Code::not_found, fmt::format("no program {} in PATH", base::printable(name)))
                        .hint("give its absolute path, or set PATH in the environment's variables"));
}

void set_identity(const LaunchInput& input, Variables& out) {
  const RunIdentity& identity = input.identity;
  out["AZUREML_RUN_ID"] = identity.run_id;
  out["AZUREML_EXPERIMENT_ID"] = identity.experiment;
  out["AZUREML_WORKSPACE_ID"] = identity.workspace;
  out["AZUREML_ARM_SUBSCRIPTION"] = identity.subscription_id;
  out["AZUREML_ARM_RESOURCEGROUP"] = identity.resource_group;
  out["AZUREML_ARM_WORKSPACE_NAME"] = identity.workspace;
  out["AZUREML_ARM_PROJECT_NAME"] = identity.experiment;
  out["AZUREML_RUN_TOKEN"] = identity.token;
  out["AZUREML_RUN_TOKEN_EXPIRY"] = identity.token_expiry;
  out["AZUREML_SERVICE_ENDPOINT"] = identity.url;
  out["LATHE_URL"] = identity.url;
  out["LATHE_SERVER"] = identity.url;
  out["LATHE_METRICS_DIR"] = identity.metrics_folder;
  out["LATHE_METRICS_ACKS"] = "1";  // the runner tells how much of a journal the server has
}

Variables process_environment(const LaunchInput& input) {
  Variables out = input.inherited;
  for (const auto& [name, value] : input.environment) out[name] = value;
  set_identity(input, out);
  // Without a GPU in the slice, those of the machine must stay unseen; where there is none, nothing needs hiding.
  if (!input.slice.gpus.empty() || input.machine_has_gpu)
    out["CUDA_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(input.slice.gpus, ","));
  // Output must reach the log when it is printed, not when a buffer is full.
  out.emplace("PYTHONUNBUFFERED", "1");
  std::string& path = out.emplace("PATH", "/usr/local/bin:/usr/bin:/bin").first->second;
  if (!input.interpreter.empty()) path = fs::path(input.interpreter).parent_path().string() + ":" + path;
  return out;
}

}  // namespace

base::Result<ProcessSpec> PlainLauncher::prepare(const LaunchInput& input) const {
  ProcessSpec spec{.argv = {}, .environment = process_environment(input), .directory = input.directory};
  const model::Command& command = input.command;
  if (!command.script.empty()) {
    if (input.interpreter.empty())
      return base::fail(
          base::Error(base::Code::invalid, "a script needs an interpreter").hint("submit with --python PATH"));
    std::error_code ignored;
    if (!fs::exists(fs::path(input.directory) / command.script, ignored))
      return base::fail(base::Error(base::Code::not_found,
                                    fmt::format("no script {} in the snapshot", base::printable(command.script)))
                            .hint("the path is relative to the source folder; does an ignore file leave it out?"));
    spec.argv = {input.interpreter, command.script};
  } else {
    if (command.command.empty()) return base::fail(base::Code::invalid, "the run has neither a script nor a command");
    spec.argv = command.command;  // as it is: in `sh -c "echo $$"` the dollars are the shell's
    if (!input.in_container) {
      LATHE_TRY(spec.argv[0], find_program(spec.argv[0], spec.environment.at("PATH"), input.directory));
    }
  }
  // Everybody on the machine may read the arguments of a process, so the token never becomes one.
  Variables shown = spec.environment;
  shown.erase("AZUREML_RUN_TOKEN");
  for (const auto& argument : command.arguments) spec.argv.push_back(expand_variables(argument, shown));
  return spec;
}

std::vector<std::string> to_environment(const Variables& variables) {
  std::vector<std::string> out;
  out.reserve(variables.size());
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

Variables inherited_environment() {
  Variables out;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text(*entry);
    std::size_t equals = text.find('=');
    if (equals != text.npos && equals > 0 && !text.starts_with("LATHE_"))
      out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

}  // namespace lathe::launch

#include "model/run_data.h"

#include <algorithm>

#include "base/strings.h"
#include "model/names.h"

namespace lathe::model {
namespace {

using base::Code;
using base::Error;

constexpr std::string_view kRunId = "{run-id}";
// Variables that a process needs for something else; with _ at the end all that begin so.
constexpr std::string_view kTakenNames[] = {"PATH",  "HOME",  "PWD",      "USER",      "SHELL",      "TMPDIR",
                                            "LANG",  "IFS",   "LD_",      "LC_",       "PYTHONPATH", "PYTHONHOME",
                                            "CUDA_", "NCCL_", "AZUREML_", "AZURE_ML_", "LATHE_"};

base::Result<void> refuse(std::string field, std::string message, std::string hint) {
  return base::fail(Error(Code::invalid, std::move(message)).field(std::move(field)).hint(std::move(hint)));
}

// A name becomes a variable by itself and behind AZUREML_DATAREFERENCE_.
base::Result<void> check_data_name(std::string_view kind, const std::string& name) {
  auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  bool good = !name.empty() && name.size() <= 200 && is_letter(name[0]);
  for (char c : name) good = good && (is_letter(c) || (c >= '0' && c <= '9'));
  auto means_something_else = [&](std::string_view taken) {
    return taken.ends_with('_') ? name.starts_with(taken) : name == taken;
  };
  if (good && std::ranges::none_of(kTakenNames, means_something_else)) return {};
  return refuse(std::string(kind), fmt::format("'{}' cannot be the name of an input or output", base::printable(name)),
                "use letters, digits and _, not beginning with a digit; it becomes a variable of the process");
}

std::string_view without_slashes(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  while (path.starts_with('/')) path.remove_prefix(1);
  return path;
}

base::Result<void> check_place(const std::string& field, const std::string& datastore, const std::string& path) {
  if (datastore.empty())
    return refuse(field + ".datastore", "the name of a datastore is missing", "e.g. workspaceblobstore");
  auto inner = without_slashes(path);
  if (inner.empty() || inner == ".") return {};
  return check_artifact_path(field + ".path", inner);
}

base::Result<void> check_path_on_compute(const std::string& field, const std::string& path) {
  if (path.empty()) return {};
  auto inner = without_slashes(path);
  LATHE_TRY_VOID(check_artifact_path(field, inner));
  auto top = inner.substr(0, inner.find('/'));
  if (path[0] != '/' && (top == "outputs" || top == "logs"))
    return refuse(field, fmt::format("'{}' is where the run's own results are collected", base::printable(path)),
                  "choose another folder for the data");
  return {};
}

base::Result<void> check_input(const std::string& field, const RunInput& input) {
  if (input.dataset.empty() == input.datastore.empty())
    return refuse(field, "an input is either a dataset or a place in a datastore",
                  "give dataset, or datastore and path");
  if (!input.dataset.empty() && !input.path.empty())
    return refuse(field + ".path", "a dataset is read as a whole; a path is that of a place in a datastore",
                  "leave path out, or make a dataset of the files that are meant");
  if (input.dataset.empty()) LATHE_TRY_VOID(check_place(field, input.datastore, input.path));
  if (input.dataset.empty() && input.mode == InputMode::direct)
    return refuse(field + ".mode", "only a dataset can be read directly", "use mount or download");
  return check_path_on_compute(field + ".path_on_compute", input.path_on_compute);
}

}  // namespace

std::string_view input_mode_name(InputMode mode) {
  switch (mode) {
    case InputMode::mount:
      return "mount";
    case InputMode::download:
      return "download";
    case InputMode::direct:
      break;
  }
  return "direct";
}

std::optional<InputMode> input_mode_from_name(std::string_view name) {
  for (auto mode : {InputMode::mount, InputMode::download, InputMode::direct})
    if (input_mode_name(mode) == name) return mode;
  return std::nullopt;
}

std::string_view output_mode_name(OutputMode mode) { return mode == OutputMode::mount ? "mount" : "upload"; }

std::optional<OutputMode> output_mode_from_name(std::string_view name) {
  for (auto mode : {OutputMode::mount, OutputMode::upload})
    if (output_mode_name(mode) == name) return mode;
  return std::nullopt;
}

base::Result<void> check_run_data(const RunInputs& inputs, const RunOutputs& outputs) {
  if (inputs.size() + outputs.size() > kMaxRunData)
    return refuse("inputs",
                  fmt::format("{} inputs and outputs; at most {}", inputs.size() + outputs.size(), kMaxRunData),
                  "put files together into one dataset");
  for (const auto& [name, input] : inputs) {
    LATHE_TRY_VOID(check_data_name("inputs", name));
    LATHE_TRY_VOID(check_input("inputs." + name, input));
  }
  for (const auto& [name, output] : outputs) {
    const std::string field = "outputs." + name;
    LATHE_TRY_VOID(check_data_name("outputs", name));
    if (inputs.contains(name))
      return refuse("outputs", fmt::format("'{}' is the name of an input too", name), "give them different names");
    LATHE_TRY_VOID(check_place(field, output.datastore, output.path));
  }
  return {};
}

std::string output_path(const RunOutput& output, std::string_view run_id) {
  std::string path(without_slashes(output.path));
  for (std::size_t at = 0; (at = path.find(kRunId, at)) != path.npos; at += run_id.size())
    path.replace(at, kRunId.size(), run_id);
  return path == "." ? std::string() : path;
}

}  // namespace lathe::model

#include "envs/resolver.h"

#include "base/strings.h"
#include "envs/era.h"
#include "envs/known_metadata.h"
#include "envs/work_folder.h"
#include "sys/small_file.h"

namespace lathe::envs {
namespace {

using base::Code;
using base::Error;

constexpr std::size_t kMaxReason = 2000;

std::string lines(const std::vector<std::string>& list) {
  std::string out;
  for (const auto& line : list) out += line + "\n";
  return out;
}

std::vector<std::string> compile_arguments(const Settings& settings, const PipOptions& options,
                                           const Question& question, const std::filesystem::path& python,
                                           const std::filesystem::path& work) {
  std::vector<std::string> out{"pip", "compile", (work / "requirements.in").string(), "--quiet"};
  auto add = [&](std::initializer_list<std::string> more) { out.insert(out.end(), more); };
  add({"--python", python.string(), "--format", "pylock.toml", "--output-file", (work / "pylock.toml").string()});
  add({"--constraint", (work / "constraints.in").string()});
  for (auto& one : source_arguments(settings, options)) out.push_back(std::move(one));
  for (auto& one : era_arguments(question.as_of)) out.push_back(std::move(one));
  if (!question.dependencies) add({"--no-deps"});
  if (!question.python_version.empty()) add({"--python-version", question.python_version});
  if (!question.resolution.empty()) add({"--resolution", question.resolution});
  for (const auto& name : question.only_binary) add({"--only-binary", name});
  return out;
}

}  // namespace

std::string reason_of(std::string_view complaint) {
  std::string out;
  for (auto line : base::split(complaint, '\n')) {
    line = base::trim(line);
    for (std::string_view start : {"error: ", "cause: ", "hint: "})
      if (line.starts_with(start)) line.remove_prefix(start.size());
    if (line.empty() || line.starts_with("No solution found") || line.starts_with("warning:")) continue;
    out += (out.empty() ? "" : " ") + std::string(line);
  }
  return base::printable(out, kMaxReason);
}

Resolver::Resolver(const Settings& settings, Uv uv, const PipOptions& options, std::filesystem::path python,
                   LogSink log, std::stop_token stop)
    : settings_(settings),
      uv_(std::move(uv)),
      options_(options),
      python_(std::move(python)),
      log_(std::move(log)),
      stop_(std::move(stop)) {}

base::Result<std::vector<PylockPackage>> Resolver::ask(const Question& question, bool aloud) {
  LATHE_TRY(auto work, WorkFolder::make(settings_.cache, "resolve"));
  LATHE_TRY_VOID(write_text(work.path() / "requirements.in", lines(question.requirements)));
  LATHE_TRY_VOID(write_text(work.path() / "constraints.in", lines(question.constraints)));
  auto arguments = compile_arguments(settings_, options_, question, python_, work.path());
  LATHE_TRY_VOID(write_text(work.path() / "uv.toml", known_metadata()));
  const Uv uv = uv_.in(work.path());
  const LogSink log = aloud ? log_ : LogSink();
  Uv::Answer answer;
  if (!unreachable_) {
    LATHE_TRY(answer, uv.run(arguments, log, stop_));
    unreachable_ = !answer.ok() && !settings_.offline && is_network_complaint(answer.complaint);
    if (unreachable_) log_("the package index cannot be reached; trying with what the cache holds");
  }
  if (unreachable_) {
    arguments.emplace_back("--offline");
    LATHE_TRY(answer, uv.run(arguments, log, stop_));
  }
  if (!answer.ok()) return base::fail(complaint(question, answer, unreachable_));
  LATHE_TRY(auto text, sys::read_small_file(work.path() / "pylock.toml"));
  return parse_pylock(text);
}

Error Resolver::complaint(const Question& question, const Uv::Answer& answer, bool unreachable) const {
  const std::string reason = reason_of(answer.complaint);
  if (unreachable || (settings_.offline && answer.complaint.find("network") != std::string::npos))
    return Error(Code::unavailable,
                 fmt::format("the package index cannot be reached, and the cache does not hold everything: {}", reason))
        .hint(
            "check the network; a mirror or a folder of wheels is named in config.yaml as environments: {index: URL} "
            "or "
            "{wheelhouse: FOLDER}");
  std::string hint = question.as_of.empty()
                         ? "change the versions so that they go together"
                         : fmt::format(
                               "packages are those of {}: for others set the variable LATHE_AS_OF of the "
                               "environment to a date or to off",
                               question.as_of.substr(0, 10));
  return Error(Code::invalid, fmt::format("the packages cannot be had together: {}", reason))
      .field("python.condaDependencies")
      .hint(std::move(hint));
}

}  // namespace lathe::envs

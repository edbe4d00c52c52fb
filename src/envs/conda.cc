#include "envs/conda.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/strings.h"
#include "envs/file_lock.h"
#include "envs/install.h"
#include "envs/lock_json.h"
#include "envs/python_finder.h"
#include "envs/resolver.h"
#include "envs/resources.h"
#include "envs/version.h"
#include "envs/work_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using base::Code;
using base::Error;
using base::Result;

constexpr std::string_view kLocal = "local";

bool is_local(std::string_view channel) { return channel.starts_with('/') || channel.starts_with("file://"); }

std::string file_url(std::string_view channel) {
  return channel.starts_with('/') ? "file://" + std::string(channel) : std::string(channel);
}

// rattler needs a Python of today; the newest of the machine.
Result<fs::path> tool_python(const Settings& settings) {
  auto all = find_interpreters(settings);
  if (all.empty()) return base::fail(Code::not_found, "there is no Python for the conda tool");
  return std::ranges::max(all, [](const auto& a, const auto& b) { return compare_versions(a.minor, b.minor) < 0; })
      .path;
}

Result<fs::path> rattler(const Settings& settings, const Uv& uv, const LogSink& log, std::stop_token stop) {
  const fs::path venv = settings.cache / "tools" / fmt::format("rattler-{}", kRattlerVersion), done = venv / "ready";
  std::error_code ignored;
  if (fs::exists(done, ignored)) return venv / "bin" / "python";
  LATHE_TRY(auto held, wait_for_lock(settings.cache / "locks" / "rattler", LockKind::exclusive, {}, stop));
  if (fs::exists(done, ignored)) return venv / "bin" / "python";
  log(fmt::format("installing py-rattler {} for conda packages", kRattlerVersion));
  fs::remove_all(venv, ignored);
  LATHE_TRY(auto python, tool_python(settings));
  LATHE_TRY_VOID(make_venv(uv, python, venv, stop));
  std::vector<std::string> arguments{"pip",
                                     "install",
                                     "--quiet",
                                     "--python",
                                     (venv / "bin" / "python").string(),
                                     fmt::format("py-rattler=={}", kRattlerVersion)};
  for (auto& one : source_arguments(settings, {})) arguments.push_back(std::move(one));
  LATHE_TRY(auto answer, uv.run(arguments, log, stop));
  if (!answer.ok())
    return base::fail(
        Error(Code::unavailable,
              fmt::format("py-rattler, which installs conda packages, cannot be had: {}", reason_of(answer.complaint)))
            .hint("conda packages that PyPI has need no rattler; else check the network"));
  LATHE_TRY_VOID(write_text(done, ""));
  return venv / "bin" / "python";
}

struct ToolAnswer {
  int status = 0;
  std::string output, complaint;
};

Result<ToolAnswer> run_tool(const Settings& settings, const Uv& uv, const char* what, json::object input,
                            const LogSink& log, std::stop_token stop) {
  LATHE_TRY(auto python, rattler(settings, uv, log, stop));
  LATHE_TRY(auto work, WorkFolder::make(settings.cache, "conda"));
  const fs::path program = work.path() / "conda_tool.py", asked = work.path() / "input.json";
  input["cache"] = (settings.cache / "conda").string();
  LATHE_TRY_VOID(write_text(program, resource("conda_tool.py")));
  LATHE_TRY_VOID(write_text(asked, json::serialize(input)));
  ToolAnswer answer;
  sys::CommandRequest request{
      {python.string(), "-I", "-B", program.string(), what, asked.string()}, tool_environment(settings), {}};
  LATHE_TRY(
      auto result,
      sys::run_command(request, [&](std::string_view line) { answer.complaint += std::string(line) + " "; }, stop));
  answer.status = result.status;
  answer.output = std::move(result.output);
  return answer;
}

std::string names_of(const std::vector<CondaPackage>& packages) {
  std::string out;
  for (const auto& one : packages) out += (out.empty() ? "" : ", ") + one.text();
  return out;
}

Error cannot_be_had(const std::vector<CondaPackage>& packages, const std::vector<std::string>& channels,
                    const std::string& complaint) {
  std::string list;
  for (const auto& one : channels) list += (list.empty() ? "" : ", ") + (is_local(one) ? std::string(kLocal) : one);
  const bool unreachable = is_network_complaint(complaint);
  return Error(unreachable ? Code::unavailable : Code::not_found,
               fmt::format("the conda package {} is not one that PyPI is known to have, and {} {}: {}",
                           names_of(packages),
                           unreachable ? "these channels cannot be reached:" : "it cannot be had from", list,
                           base::printable(base::trim(complaint), 1000)))
      .field("python.condaDependencies.dependencies")
      .hint(
          "name a package of PyPI under pip:, or a channel that has it in config.yaml as environments: {channels: "
          "[URL]}");
}

}  // namespace

Result<std::vector<LockedConda>> solve_conda(const Settings& settings, const Uv& uv, const Spec& spec,
                                             const std::vector<CondaPackage>& packages, const std::string& python,
                                             const LogSink& log, std::stop_token stop) {
  std::vector<std::string> channels = settings.channels.empty() ? spec.channels : settings.channels;
  if (channels.empty()) channels = {"conda-forge"};
  json::array urls, specs;
  for (const auto& one : channels) urls.emplace_back(file_url(one));
  for (const auto& one : packages) specs.emplace_back(one.text());
  log(fmt::format("asking conda channels for {}", names_of(packages)));
  LATHE_TRY(auto answer, run_tool(settings, uv, "solve",
                                  {{"channels", std::move(urls)},
                                   {"specs", std::move(specs)},
                                   {"constraints", json::array{fmt::format("python {}.*", python)}},
                                   {"platform", "linux-64"}},
                                  log, stop));
  if (answer.status != 0) return base::fail(cannot_be_had(packages, channels, answer.complaint));
  boost::system::error_code problem;
  json::value list = json::parse(answer.output, problem);
  if (problem || !list.is_array()) return base::fail(Code::corrupt, "the conda tool's answer is not a list");
  LATHE_TRY(auto locked, conda_from_json(list.get_array()));
  // A lock names no path of this machine: every node has the site's channels.
  for (auto& one : locked)
    if (is_local(one.channel)) one.channel = kLocal;
  return locked;
}

Result<void> install_conda(const Settings& settings, const Uv& uv, const std::vector<LockedConda>& packages,
                           const fs::path& prefix, const fs::path& final_prefix, const LogSink& log,
                           std::stop_token stop) {
  json::array list;
  for (LockedConda one : packages) {
    for (const auto& channel : settings.channels) {
      std::error_code ignored;
      const fs::path folder(channel.starts_with("file://") ? channel.substr(7) : channel);
      if (one.channel == kLocal && is_local(channel) && fs::exists(folder / one.subdir / one.file, ignored))
        one.channel = file_url(channel);
    }
    if (one.channel == kLocal)
      return base::fail(Error(Code::not_found, fmt::format("{} is in none of the site's conda channels", one.file))
                            .hint("name its channel in config.yaml as environments: {channels: [FOLDER]}"));
    list.push_back(conda_to_json(one));
  }
  LATHE_TRY(
      auto answer,
      run_tool(settings, uv, "install",
               {{"packages", std::move(list)}, {"prefix", prefix.string()}, {"final_prefix", final_prefix.string()}},
               log, stop));
  if (answer.status == 0) {
    log(fmt::format("installed {} conda packages", packages.size()));
    return {};
  }
  return base::fail(is_network_complaint(answer.complaint) ? Code::unavailable : Code::upstream,
                    "the conda packages could not be installed: {}",
                    base::printable(base::trim(answer.complaint), 1000));
}

std::string conda_python(const std::vector<LockedConda>& packages) {
  auto found = std::ranges::find(packages, "python", &LockedConda::name);
  if (found == packages.end()) return {};
  auto numbers = release_numbers(found->version);
  return numbers.size() < 2 ? std::string() : fmt::format("{}.{}", numbers[0], numbers[1]);
}

}  // namespace lathe::envs

#include "envs/requirements.h"

#include <set>

#include "base/strings.h"
#include "envs/conda_names.h"
#include "envs/pip_lines.h"
#include "envs/source_check.h"
#include "sys/small_file.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Error;
using base::Result;

const std::string kField = "python.condaDependencies.dependencies.pip";

Result<std::vector<std::string>> read_lines(const Settings& settings, const std::string& name) {
  LATHE_TRY(auto path, source_file(settings, name));
  LATHE_TRY(auto text, sys::read_small_file(path));
  return requirement_lines(text);
}

// Reads -r files, and those that they name, into the spec.
Result<void> read_files(const Settings& settings, Spec& spec) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < spec.options.requirement_files.size(); ++i) {
    const std::string name = spec.options.requirement_files[i];
    if (!seen.insert(name).second) continue;
    LATHE_TRY(auto lines, read_lines(settings, name));
    for (const auto& line : lines) LATHE_TRY_VOID(take_pip_line(spec, line, name));
  }
  return {};
}

Result<std::vector<std::string>> read_constraints(const Settings& settings, const Spec& spec) {
  std::vector<std::string> out;
  for (const auto& name : spec.options.constraint_files) {
    LATHE_TRY(auto lines, read_lines(settings, name));
    for (auto& line : lines)
      if (!line.starts_with('-') && !distribution_name(line).starts_with("azureml-")) out.push_back(std::move(line));
  }
  return out;
}

// A path becomes absolute, so that uv finds it wherever it runs.
Result<std::string> with_full_path(const Settings& settings, const std::string& requirement) {
  if (!is_direct_reference(requirement) || requirement.find("://") != std::string::npos) return requirement;
  LATHE_TRY(auto path, source_file(settings, requirement));
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return base::fail(
        Error(Code::unsupported,
              fmt::format("'{}' is a folder: a package's sources cannot be locked", base::printable(requirement)))
            .field(kField)
            .hint("the run's source folder is importable as it is; or put a wheel into it: python -m build"));
  return path.string();
}

}  // namespace

Result<fs::path> source_file(const Settings& settings, std::string_view name) {
  const std::string shown = base::printable(name);
  if (settings.source_folder.empty())
    return base::fail(
        Error(Code::invalid, fmt::format("'{}' is a file of a source folder, and there is none here", shown))
            .field(kField)
            .hint("submit a run with that source directory, or name packages of an index"));
  std::error_code problem;
  const fs::path root = fs::canonical(settings.source_folder, problem);
  const fs::path path = problem ? fs::path() : fs::canonical(root / name, problem);
  if (problem)
    return base::fail(
        Error(Code::not_found, fmt::format("there is no {} in the source folder", shown))
            .field(kField)
            .hint("it must lie in the source directory of the run, and .amlignore must not leave it out"));
  if (path != root && !path.string().starts_with(root.string() + "/"))
    return base::fail(Error(Code::forbidden, fmt::format("{} leads out of the source folder", shown)).field(kField));
  return path;
}

Result<Requirements> gather_requirements(const Settings& settings, const Spec& given) {
  Spec spec = given;
  LATHE_TRY_VOID(read_files(settings, spec));
  LATHE_TRY_VOID(check_sources(spec, settings.check_url));
  Requirements out;
  LATHE_TRY(out.constraints, read_constraints(settings, spec));
  for (const auto& line : spec.pip) {
    LATHE_TRY(auto requirement, with_full_path(settings, line));
    out.list.push_back(std::move(requirement));
  }
  for (const auto& package : spec.conda) {
    auto known = conda_on_pypi(package);
    if (!known)
      out.conda.push_back(package);
    else if (!known->requirement.empty())
      out.list.push_back(known->requirement);
  }
  for (const auto& link : spec.options.find_links)
    if (link.find("://") == std::string::npos) LATHE_TRY_VOID(source_file(settings, link));
  out.options = spec.options;
  return out;
}

}  // namespace lathe::envs

#include "envs/source_build.h"

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "envs/era.h"
#include "envs/file_lock.h"
#include "envs/install.h"
#include "envs/kept_wheels.h"
#include "envs/resolver.h"
#include "envs/work_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Error;
using base::Result;

std::optional<fs::path> wheel_below(const fs::path& folder) {
  std::error_code ignored;
  for (auto it = fs::recursive_directory_iterator(folder, ignored); it != fs::recursive_directory_iterator(); ++it)
    if (it->path().extension() == ".whl" && it->is_regular_file(ignored)) return it->path();
  return std::nullopt;
}

// The packages that it is built against, and all of the lock that those may need.
Result<void> prepare_build(const Settings& settings, const Uv& uv, const LockContent& lock,
                           const LockedPackage& package, const BuildRule& rule, const fs::path& python,
                           const fs::path& venv, const LogSink& log, std::stop_token stop) {
  LATHE_TRY_VOID(make_venv(uv, python, venv, stop));
  std::set<std::string> others;
  for (const auto& one : lock.packages)
    if (one.name != package.name && !build_rule(lock, one.name)) others.insert(one.name);
  if (!others.empty()) {
    LATHE_TRY(auto plan, plan_install(settings, lock, find_ordinary_wheels(settings, lock), others));
    LATHE_TRY_VOID(install(settings, uv, lock, plan, venv, log, stop));
  }
  // Beside the lock's own versions, which stay.
  std::vector<std::string> arguments{"pip", "install", "--python", (venv / "bin" / "python").string()};
  const std::size_t before = arguments.size();
  for (const auto& one : rule.requires_)
    if (!others.contains(distribution_name(one))) arguments.push_back(one);
  if (arguments.size() == before) return {};  // the lock has them all
  for (auto& one : era_arguments(lock.era.as_of)) arguments.push_back(std::move(one));
  const PipOptions options = options_of(lock);
  for (auto& one : source_arguments(settings, options)) arguments.push_back(std::move(one));
  LATHE_TRY(auto answer, uv.with(options).run(arguments, log, stop));
  if (answer.ok()) return {};
  return base::fail(Code::upstream, "what the build of {} needs could not be installed: {}", package.name,
                    reason_of(answer.complaint));
}

std::vector<std::string> build_variables(const BuildRule& rule, const fs::path& venv) {
  std::vector<std::string> out;
  for (const auto& [name, value] : rule.variables) out.push_back(name + "=" + value);
  const char* path = std::getenv("PATH");
  out.push_back(fmt::format("PATH={}:{}", (venv / "bin").string(), path ? path : "/usr/bin:/bin"));
  return out;
}

// uv fetches, checks the hash, builds and keeps the wheel in its cache; a cache of its own makes sure that it is built
// now, against these packages, and not one that was built against others.
Result<fs::path> build(const Settings& settings, const Uv& uv, const LockContent& lock, const LockedPackage& package,
                       const BuildRule& rule, const fs::path& work, const LogSink& log, std::stop_token stop) {
  const fs::path venv = work / "venv", file = work / "source.txt", cache = work / "uv";
  LATHE_TRY_VOID(write_text(
      file, fmt::format("{}=={} --hash=sha256:{}\n", package.name, package.version, package.files.at(0).sha256.hex())));
  std::vector<std::string> arguments{"pip",
                                     "install",
                                     "--python",
                                     (venv / "bin" / "python").string(),
                                     "--no-deps",
                                     "--no-build-isolation",
                                     "--no-binary",
                                     package.name,
                                     "--require-hashes",
                                     "--requirement",
                                     file.string(),
                                     "--cache-dir",
                                     cache.string(),
                                     "--verbose"};
  const PipOptions options = options_of(lock);
  for (auto& one : source_arguments(settings, options)) arguments.push_back(std::move(one));
  // What the compiler says comes as uv's own remarks do.
  std::string first_error;
  auto plain = [&](std::string_view line) {
    if (line.starts_with("DEBUG ")) line.remove_prefix(6);
    if (first_error.empty() && line.find(" error: ") != std::string_view::npos) first_error = line;
    log(line);
  };
  LATHE_TRY(auto answer, uv.with(options).run(arguments, plain, stop, build_variables(rule, venv)));
  const std::string why = first_error.empty() ? reason_of(answer.complaint) : base::printable(first_error, 1000);
  if (!answer.ok())
    return base::fail(
        Error(Code::upstream, fmt::format("{} {} could not be built: {}", package.name, package.version, why))
            .hint("the build log says more: lathe run logs, azureml-logs/20_image_build_log.txt"));
  if (auto wheel = wheel_below(cache)) return *wheel;
  return base::fail(Code::internal, "{} was built, but its wheel is not in the installer's cache", package.name);
}

}  // namespace

Result<fs::path> build_wheel(const Settings& settings, const Uv& uv, const LockContent& lock,
                             const LockedPackage& package, const BuildRule& rule, const fs::path& python,
                             const LogSink& log, std::stop_token stop) {
  const bool on_the_node = settings.image.empty();  // an image has an MPI and compilers of its own, or says so itself
  const std::string key = build_key(lock, package, rule, rule.mpi && on_the_node ? mpi_version(stop) : "");
  LATHE_TRY(auto held,
            wait_for_lock(
                settings.cache / "locks" / ("built-" + key), LockKind::exclusive,
                [&] { log(fmt::format("{} is being built by another environment; waiting", package.name)); }, stop));
  if (auto wheel = find_kept_wheel(settings, key)) {
    log(fmt::format("{} {} was built before", package.name, package.version));
    return *wheel;
  }
  if (on_the_node) LATHE_TRY_VOID(check_programs(package.name, rule, python));
  log(fmt::format("building {} {} from source; this takes minutes", package.name, package.version));
  LATHE_TRY(auto work, WorkFolder::make_only(settings.cache, "build-" + key));
  LATHE_TRY_VOID(prepare_build(settings, uv, lock, package, rule, python, work.path() / "venv", log, stop));
  LATHE_TRY(auto wheel, build(settings, uv, lock, package, rule, work.path(), log, stop));
  LATHE_TRY(auto kept, keep_wheel(settings, key, wheel));  // the last step: a folder without a wheel means nothing
  log(fmt::format("built {}", wheel.filename().string()));
  return kept;
}

}  // namespace lathe::envs

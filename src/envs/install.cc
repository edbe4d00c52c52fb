#include "envs/install.h"

#include "base/strings.h"
#include "envs/era.h"
#include "envs/file_lock.h"
#include "envs/kept_files.h"
#include "envs/kept_wheels.h"
#include "envs/resolver.h"
#include "envs/work_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Error;
using base::Result;

std::string with_hash(std::string requirement, const base::Digest& sha256) {
  return requirement + " --hash=sha256:" + sha256.hex();
}

Result<std::string> local_line(const std::string& name, const fs::path& path, const base::Digest& sha256) {
  return with_hash(fmt::format("{} @ file://{}", name, path.string()), sha256);
}

Result<void> add_line(const Settings& settings, const LockedPackage& package, InstallPlan& plan) {
  if (package.source == PackageSource::git) {
    plan.unhashed.push_back(fmt::format("{} @ git+{}@{}", package.name, package.url, package.commit));
    plan.sources.push_back(package.name);
  } else if (package.source == PackageSource::url) {
    plan.hashed.push_back(with_hash(fmt::format("{} @ {}", package.name, package.url), package.files[0].sha256));
    if (!package.files[0].name.ends_with(".whl")) plan.sources.push_back(package.name);
  } else if (package.source == PackageSource::file) {
    LATHE_TRY(auto path, get_file(settings, package.files[0]));
    LATHE_TRY(auto line, local_line(package.name, path, package.files[0].sha256));
    plan.hashed.push_back(std::move(line));
    if (!package.files[0].name.ends_with(".whl")) plan.sources.push_back(package.name);
  } else {
    std::string line = fmt::format("{}=={}", package.name, package.version);
    for (const auto& file : package.files) line = with_hash(std::move(line), file.sha256);
    plan.hashed.push_back(std::move(line));
    if (package.source == PackageSource::built) plan.sources.push_back(package.name);
  }
  return {};
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

// Settings of uv: the variables that the build of each source package sees.
std::string era_variables(const LockContent& lock, const InstallPlan& plan) {
  if (plan.sources.empty()) return {};
  std::string out = "[extra-build-variables]\n";
  for (const auto& name : plan.sources)
    for (const auto& [variable, value] : ordinary_rule(lock).variables)
      out += fmt::format("\"{}\" = {{ {} = \"{}\" }}\n", name, variable, value);
  return out;
}

Error failure(const Uv::Answer& answer) {
  const std::string reason = reason_of(answer.complaint);
  if (is_network_complaint(answer.complaint))
    return Error(Code::unavailable,
                 fmt::format("the package index cannot be reached, and the cache does not hold everything: {}", reason))
        .hint(
            "check the network; a mirror or a folder of wheels is named in config.yaml as environments: {index: URL} "
            "or "
            "{wheelhouse: FOLDER}");
  if (answer.complaint.find("unknown field `extra-build-variables`") != std::string::npos)
    return Error(Code::unsupported, "this uv is too old to build source packages of their own time")
        .hint("uv 0.8.6 or newer is needed; another one is named in config.yaml as environments: {uv: PATH}");
  if (answer.complaint.find("Hash mismatch") != std::string::npos)
    return Error(Code::corrupt, fmt::format("a package is not the one that was locked: {}", reason))
        .hint("the index gives other bytes under the same name; lock the environment again if that is meant");
  return Error(Code::upstream, fmt::format("the packages could not be installed: {}", reason));
}

// The cache first: then a warm one needs no network at all, and a registry that is down does not matter.
Result<void> install_lines(const Settings& settings, const Uv& uv, std::vector<std::string> arguments,
                           const LogSink& log, std::stop_token stop) {
  auto offline = arguments;
  if (!settings.offline) offline.emplace_back("--offline");  // else it is there already
  LATHE_TRY(auto cached, uv.run(offline, {}, stop));
  if (cached.ok()) {
    log("installed from the cache");
    return {};
  }
  if (settings.offline)
    return base::fail(
        Error(Code::unavailable, fmt::format("the site is offline, and the cache does not hold everything: {}",
                                             reason_of(cached.complaint)))
            .hint("put the missing packages into the wheelhouse folder"));
  LATHE_TRY(auto answer, uv.run(std::move(arguments), log, stop));
  if (!answer.ok()) return base::fail(failure(answer));
  return {};
}

}  // namespace

PipOptions options_of(const LockContent& lock) {
  PipOptions options;
  options.index = lock.sources.index;
  options.extra_indexes = lock.sources.extra_indexes;
  options.find_links = lock.sources.find_links;
  return options;
}

Result<InstallPlan> plan_install(const Settings& settings, const LockContent& lock,
                                 const std::map<std::string, fs::path>& wheels, const std::set<std::string>& only) {
  InstallPlan plan;
  for (const auto& package : lock.packages) {
    if (!only.empty() && !only.contains(package.name)) continue;
    auto wheel = wheels.find(package.name);
    if (wheel == wheels.end()) {
      LATHE_TRY_VOID(add_line(settings, package, plan));
      continue;
    }
    // By its name in a folder of links: an installed package shall not speak of a path of this machine.
    LATHE_TRY(auto digest, digest_of_file(wheel->second));
    plan.hashed.push_back(with_hash(fmt::format("{}=={}", package.name, package.version), digest));
    plan.folders.push_back(wheel->second.parent_path());
  }
  if (only.empty() && !lock.sdk_version.empty()) {
    LATHE_TRY(auto sdk,
              get_file(settings, {fmt::format("lathe_sdk-{}-py3-none-any.whl", lock.sdk_version), lock.sdk_sha256}));
    LATHE_TRY(auto line, local_line("lathe-sdk", sdk, lock.sdk_sha256));
    plan.hashed.push_back(std::move(line));
  }
  return plan;
}

Result<void> make_venv(const Uv& uv, const fs::path& python, const fs::path& prefix, std::stop_token stop) {
  LATHE_TRY(auto answer, uv.run({"venv", "--quiet", "--relocatable", "--no-project", "--no-python-downloads",
                                 "--allow-existing", "--python", python.string(), prefix.string()},
                                {}, stop));
  if (!answer.ok()) return base::fail(failure(answer));
  return {};
}

Result<void> install_into(const Settings& settings, const Uv& uv, const InstallPlan& plan, const fs::path& folder,
                          const LogSink& log, std::stop_token stop) {
  LATHE_TRY_VOID(make_folders(folder));
  LATHE_TRY(auto work, WorkFolder::make(settings.cache, "install"));
  const fs::path file = work.path() / "hashed.txt";
  LATHE_TRY_VOID(write_text(file, text_of(plan.hashed)));
  return install_lines(settings, uv,
                       {"pip", "install", "--no-deps", "--require-hashes", "--link-mode", "hardlink", "--target",
                        folder.string(), "--requirement", file.string()},
                       log, stop);
}

Result<void> install(const Settings& settings, const Uv& uv, const LockContent& lock, const InstallPlan& plan,
                     const fs::path& prefix, const LogSink& log, std::stop_token stop) {
  // collect() must not take packages away that are about to be linked.
  LATHE_TRY(auto packages, wait_for_lock(settings.cache / "locks" / kPackagesLock, LockKind::shared, {}, stop));
  LATHE_TRY(auto work, WorkFolder::make(settings.cache, "install"));
  const PipOptions options = options_of(lock);
  // uv keeps what it builds apart by these variables; without them it would take what was built with tools of any age.
  LATHE_TRY_VOID(write_text(work.path() / "uv.toml", era_variables(lock, plan)));
  const Uv with_indexes = uv.with(options).in(work.path());
  const std::string python = (prefix / "bin" / "python").string();
  auto run = [&](const std::vector<std::string>& lines, bool hashes) -> Result<void> {
    if (lines.empty()) return {};
    const fs::path file = work.path() / (hashes ? "hashed.txt" : "unhashed.txt");
    LATHE_TRY_VOID(write_text(file, text_of(lines)));
    std::vector<std::string> arguments{"pip",         "install",  "--python",      python,       "--no-deps",
                                       "--link-mode", "hardlink", "--requirement", file.string()};
    if (hashes) arguments.emplace_back("--require-hashes");
    for (auto& one : source_arguments(settings, options)) arguments.push_back(std::move(one));
    for (const auto& folder : plan.folders) arguments.insert(arguments.end(), {"--find-links", folder_link(folder)});
    // What a source package needs for its build is of the same age as itself.
    if (!plan.sources.empty())
      for (auto& one : era_arguments(lock.era.as_of)) arguments.push_back(std::move(one));
    return install_lines(settings, with_indexes, std::move(arguments), log, stop);
  };
  LATHE_TRY_VOID(run(plan.hashed, true));
  return run(plan.unhashed, false);
}

}  // namespace lathe::envs

#include "envs/kept_wheels.h"

#include <vector>

#include "envs/spec.h"
#include "envs/uv.h"
#include "envs/work_folder.h"
#include "sys/file_system.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Result;

bool is_ordinary(const LockContent& lock, const LockedPackage& package) {
  return package.source == PackageSource::built && !build_rule(lock, package.name);
}

std::string ordinary_key(const LockContent& lock, const LockedPackage& package) {
  return build_key(lock, package, ordinary_rule(lock), "");
}

// uv's cache: sdists-*/…/NAME/VERSION/…/WHEEL.whl, and beside it the link WHEEL to its unpacked files.
std::vector<fs::path> wheels_built_by_uv(const fs::path& cache) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (const auto& bucket : fs::directory_iterator(cache, ignored)) {
    if (!bucket.path().filename().string().starts_with("sdists-")) continue;
    for (auto it = fs::recursive_directory_iterator(bucket.path(), ignored); it != fs::recursive_directory_iterator();
         it.increment(ignored)) {
      if (it->path().filename() == "src") it.disable_recursion_pending();
      if (it->path().extension() == ".whl" && it->is_regular_file(ignored)) out.push_back(it->path());
    }
  }
  return out;
}

// "jax-0.4.14-py3-none-any.whl" → "jax-0.4.14.dist-info/METADATA".
fs::path metadata_of(const fs::path& wheel) {
  const std::string name = wheel.filename().string();
  return fs::path(name.substr(0, name.find('-', name.find('-') + 1)) + ".dist-info") / "METADATA";
}

// Whether the environment's files are those of this wheel, not only files of the same name.
bool is_installed(const fs::path& wheel, const fs::path& prefix, const std::string& python) {
  fs::path unpacked = wheel;
  unpacked.replace_extension();
  const fs::path site = prefix / "lib" / ("python" + python) / "site-packages";
  std::error_code ignored;
  return fs::equivalent(unpacked / metadata_of(wheel), site / metadata_of(wheel), ignored);
}

}  // namespace

BuildRule ordinary_rule(const LockContent& lock) {
  BuildRule rule;
  rule.variables[std::string(kEraVariable)] = lock.era.as_of.empty() ? "today" : lock.era.as_of;
  return rule;
}

std::optional<fs::path> find_kept_wheel(const Settings& settings, const std::string& key) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(settings.cache / "built" / key, ignored))
    if (entry.path().extension() == ".whl" && entry.is_regular_file(ignored)) return entry.path();
  return std::nullopt;
}

Result<fs::path> keep_wheel(const Settings& settings, const std::string& key, const fs::path& wheel) {
  const fs::path kept = settings.cache / "built" / key / wheel.filename();
  LATHE_TRY_VOID(make_folders(kept.parent_path()));
  LATHE_TRY_VOID(sys::linux_file_system().sync_file(wheel.string()));  // never a name without its bytes
  std::error_code problem;
  fs::create_hard_link(wheel, kept, problem);
  if (problem && problem != std::errc::file_exists)
    return base::fail(base::errno_error(problem.value(), "keeping " + kept.string()));
  return kept;
}

std::map<std::string, fs::path> find_ordinary_wheels(const Settings& settings, const LockContent& lock) {
  std::map<std::string, fs::path> out;
  for (const auto& package : lock.packages)
    if (is_ordinary(lock, package))
      if (auto wheel = find_kept_wheel(settings, ordinary_key(lock, package))) out[package.name] = *wheel;
  return out;
}

Result<void> keep_ordinary_wheels(const Settings& settings, const LockContent& lock, const fs::path& prefix) {
  std::map<std::string, std::string> missing;  // name → key
  for (const auto& package : lock.packages)
    if (is_ordinary(lock, package))
      if (auto key = ordinary_key(lock, package); !find_kept_wheel(settings, key)) missing[package.name] = key;
  if (missing.empty()) return {};
  for (const auto& wheel : wheels_built_by_uv(package_cache(settings))) {
    const std::string name = wheel.filename().string();
    auto found = missing.find(distribution_name(name.substr(0, name.find('-'))));
    if (found == missing.end() || !is_installed(wheel, prefix, lock.python)) continue;
    LATHE_TRY_VOID(keep_wheel(settings, found->second, wheel));
  }
  return {};
}

}  // namespace lathe::envs

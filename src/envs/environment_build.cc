#include "envs/environment_build.h"

#include "envs/conda.h"
#include "envs/install.h"
#include "envs/kept_wheels.h"
#include "envs/python_finder.h"
#include "envs/source_build.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Result;

class Builder {
 public:
  Builder(const Settings& settings, const LockContent& lock, const fs::path& prefix, const fs::path& final_prefix,
          const LogSink& log, std::stop_token stop)
      : settings_(settings), lock_(lock), prefix_(prefix), final_(final_prefix), log_(log), stop_(std::move(stop)) {}

  Result<Inventory> run() {
    LATHE_TRY(auto uv, Uv::find(settings_, log_, stop_));
    if (lock_.python.empty()) return install_sdk_alone(uv);
    if (!lock_.conda.empty()) LATHE_TRY_VOID(install_conda(settings_, uv, lock_.conda, prefix_, final_, log_, stop_));
    LATHE_TRY(auto python, base_python(uv));
    LATHE_TRY(auto wheels, built_wheels(uv, python));
    LATHE_TRY(auto plan, plan_install(settings_, lock_, wheels));
    LATHE_TRY_VOID(install(settings_, uv, lock_, plan, prefix_, log_, stop_));
    LATHE_TRY_VOID(keep_ordinary_wheels(settings_, lock_, prefix_));
    return take_inventory(prefix_);
  }

 private:
  // On the node: an image need not have a Python that uv knows.
  Result<Inventory> install_sdk_alone(const Uv& uv) {
    LATHE_TRY(auto plan, plan_install(settings_, lock_, {}));
    LATHE_TRY_VOID(install_into(settings_, uv, plan, prefix_ / kSdkFolder, log_, stop_));
    return take_inventory(prefix_);
  }

  // Conda's own where the packages brought one; else a virtual environment, in the same folder as theirs.
  Result<fs::path> base_python(const Uv& uv) {
    if (!conda_python(lock_.conda).empty()) return prefix_ / "bin" / "python";
    LATHE_TRY(auto python, get_python(settings_, uv, lock_.python, log_, stop_));
    LATHE_TRY_VOID(make_venv(uv, python.path, prefix_, stop_));
    return python.path;
  }

  Result<std::map<std::string, fs::path>> built_wheels(const Uv& uv, const fs::path& python) {
    auto out = find_ordinary_wheels(settings_, lock_);
    for (const auto& [name, wheel] : out) log_(fmt::format("{} was built before", name));
    for (const auto& package : lock_.packages) {
      auto rule = build_rule(lock_, package.name);
      if (!rule) continue;
      LATHE_TRY(auto wheel, build_wheel(settings_, uv, lock_, package, *rule, python, log_, stop_));
      out[package.name] = wheel;
    }
    return out;
  }

  const Settings& settings_;
  const LockContent& lock_;
  const fs::path &prefix_, &final_;
  const LogSink& log_;
  std::stop_token stop_;
};

}  // namespace

Result<Inventory> build_environment(const Settings& settings, const LockContent& lock, const fs::path& prefix,
                                    const fs::path& final_prefix, const LogSink& log, std::stop_token stop) {
  Settings where = settings;
  where.image = lock.python.empty() ? "" : lock.image.id;
  LATHE_TRY(auto first, Builder(where, lock, prefix, final_prefix, log, stop).run());
  auto damaged = damaged_packages(prefix, first);
  if (damaged.empty()) return first;
  log(fmt::format("the package cache held damaged files of {}; fetching again", damaged.front()));
  LATHE_TRY_VOID(forget_packages(where, damaged, log, stop));
  std::error_code ignored;
  fs::remove_all(prefix, ignored);
  LATHE_TRY(auto second, Builder(where, lock, prefix, final_prefix, log, stop).run());
  // A package that is so from its index on is taken as it is: its hash is the locked one.
  for (const auto& name : damaged_packages(prefix, second))
    log(fmt::format("{} does not agree with its own record", name));
  return second;
}

Result<void> forget_packages(const Settings& settings, const std::vector<std::string>& names, const LogSink& log,
                             std::stop_token stop) {
  LATHE_TRY(auto uv, Uv::find(settings, log, stop));
  std::vector<std::string> arguments{"cache", "clean", "--quiet", "--force"};
  arguments.insert(arguments.end(), names.begin(), names.end());
  LATHE_TRY(auto answer, uv.run(arguments, {}, stop));
  return {};
}

}  // namespace lathe::envs

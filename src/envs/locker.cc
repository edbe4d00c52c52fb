#include "envs/locker.h"

#include <sys/utsname.h>

#include <algorithm>

#include "base/strings.h"
#include "envs/conda.h"
#include "envs/engine_arguments.h"
#include "envs/image.h"
#include "envs/kept_files.h"
#include "envs/pip_lines.h"
#include "envs/replacement.h"
#include "envs/requirements.h"
#include "envs/version.h"
#include "sys/clock.h"

namespace lathe::envs {
namespace {

using base::Code;
using base::Error;
using base::Result;

std::string this_platform() {
  utsname name{};
  ::uname(&name);
  return fmt::format("linux-{}", name.machine);
}

// A replacement as one line of the build log.
void tell(const LogSink& log, const Substitution& one) {
  log(fmt::format("replaced: {} -> {} ({}; rule {})", one.asked, one.given, one.why, one.rule));
}

Result<LockedPackage> locked(const PylockPackage& package) {
  LockedPackage out{package.name, package.version, PackageSource::index, {}, {}, {}};
  if (!package.git_commit.empty()) {
    out.source = PackageSource::git;
    out.url = package.git_url;
    out.commit = package.git_commit;
  } else if (package.archive) {
    const bool is_url = package.archive->location.find("://") != std::string::npos;
    out.source = is_url ? PackageSource::url : PackageSource::file;
    out.files = {{package.archive->name, package.archive->sha256}};
    if (is_url) out.url = package.archive->location;
  } else if (!package.wheels.empty()) {
    for (const auto& wheel : package.wheels) out.files.push_back({wheel.name, wheel.sha256});
  } else if (package.sdist) {
    out.source = PackageSource::built;
    out.files = {{package.sdist->name, package.sdist->sha256}};
  } else {
    return base::fail(Code::unsupported, "{} {} has no file that could be locked", package.name, package.version);
  }
  return out;
}

class Locker {
 public:
  Locker(const Settings& settings, const Spec& spec, const LogSink& log, std::stop_token stop)
      : settings_(settings), spec_(spec), log_(log), stop_(std::move(stop)) {}

  Result<Lock> run() {
    content_.platform = this_platform();
    content_.variables = spec_.variables;
    content_.sdk_version = settings_.sdk.version;
    content_.sdk_sha256 = settings_.sdk.digest;
    LATHE_TRY(table_, Substitutions::parse(settings_.substitutions));
    LATHE_TRY_VOID(lock_image());
    if (spec_.user_managed) {
      content_.interpreter = spec_.interpreter;
      content_.era = {"", "off", "the user manages the packages"};
      return write_lock(std::move(content_));
    }
    LATHE_TRY_VOID(lock_python());
    LATHE_TRY_VOID(lock_packages());
    return write_lock(std::move(content_));
  }

 private:
  Result<void> add(Substitution one) {
    if (settings_.strict)
      return base::fail(Error(Code::unsupported, fmt::format("{} cannot be had: {}", one.asked, one.why))
                            .hint(fmt::format("strict: true forbids {} instead; change the environment", one.given)));
    tell(log_, one);
    content_.substitutions.push_back(std::move(one));
    return {};
  }

  Result<void> lock_image() {
    if (!spec_.image.wanted()) return {};
    std::string reference = spec_.image.reference;
    const ImageRule* rule = spec_.image.dockerfile.empty() ? table_.for_image(reference) : nullptr;
    if (rule) {
      LATHE_TRY_VOID(add({"image", reference, rule->given == "none" ? "no image" : rule->given, rule->why}));
      if (rule->given == "none" && !spec_.image.arguments.empty())
        log_(fmt::format("no image: {} has no effect", spec_.image.arguments.front()));
      if (rule->given == "none") return {};
      reference = rule->given;
    }
    LATHE_TRY_VOID(check_allowed(settings_, spec_.image.arguments));
    LATHE_TRY(content_.image, lock_image_of({reference, spec_.image.dockerfile, true}, settings_, log_, stop_));
    content_.image.arguments = spec_.image.arguments;
    settings_.image = content_.image.id;
    return {};
  }

  Result<void> lock_python() {
    LATHE_TRY(auto uv, Uv::find(settings_, log_, stop_));
    uv_.emplace(std::move(uv));
    LATHE_TRY(python_, choose_python(settings_, table_, *uv_, spec_.python, log_, stop_));
    content_.python_asked = spec_.python;
    content_.python = python_.interpreter.minor;
    log_(fmt::format("Python {}{}", content_.python, spec_.python.empty() ? "" : " for the asked " + spec_.python));
    return python_.substitution ? add(*python_.substitution) : Result<void>();
  }

  Result<void> lock_packages() {
    LATHE_TRY(auto wanted, gather_requirements(settings_, spec_));
    content_.sources.index = wanted.options.index;
    content_.sources.extra_indexes = wanted.options.extra_indexes;
    for (const auto& link : wanted.options.find_links)
      if (link.find("://") != std::string::npos) content_.sources.find_links.push_back(link);
    if (!wanted.conda.empty() && content_.image.wanted())
      return base::fail(Error(Code::unsupported, fmt::format("the conda package {} cannot be added to an image",
                                                             wanted.conda.front().text()))
                            .field("python.condaDependencies")
                            .hint("install it in the Dockerfile, or leave the image out"));
    if (!wanted.conda.empty()) {
      LATHE_TRY(content_.conda,
                solve_conda(settings_, *uv_, spec_, wanted.conda, python_.interpreter.minor, log_, stop_));
    }
    Resolver resolver(settings_, uv_->with(wanted.options), wanted.options, python_.interpreter.path, log_, stop_);
    PinLookup lookup(resolver);
    LATHE_TRY(auto replaced, replace_packages(settings_, table_, python_, wanted.list, lookup));
    for (const auto& one : replaced.substitutions) tell(log_, one);
    content_.era = decide_era(replaced.pins, {spec_.as_of, settings_.era, content_.python, sys::utc_now()});
    log_(content_.era.as_of.empty() ? fmt::format("packages of today: {}", content_.era.because)
                                    : fmt::format("packages as of {}: {}", content_.era.as_of, content_.era.because));
    if (replaced.requirements.empty()) return {};
    LATHE_TRY(auto packages, resolve(resolver, wanted.constraints, replaced));
    LATHE_TRY_VOID(check_combination(settings_, table_, packages));
    std::ranges::move(replaced.substitutions, std::back_inserter(content_.substitutions));
    for (const auto& package : packages) {
      LATHE_TRY(auto one, locked(package));
      LATHE_TRY_VOID(keep_source_files(one, package));
      content_.packages.push_back(std::move(one));
    }
    log_(fmt::format("locked {} packages:", packages.size()));
    for (const auto& package : packages) log_(fmt::format("  {} {}", package.name, package.version));
    return {};
  }

  // With another Python than the asked one the pins may no longer go together: first those that were moved may be
  // newer, then all of them.
  Result<std::vector<PylockPackage>> resolve(Resolver& resolver, const std::vector<std::string>& constraints,
                                             Replaced& replaced) {
    Question question;
    question.requirements = replaced.requirements;
    question.constraints = constraints;
    question.as_of = content_.era.as_of;
    auto packages = resolver.ask(question, true);
    auto conflict = [&] { return !packages && packages.error().code() == Code::invalid; };
    if (!conflict() || replaced.moved.empty()) return packages;
    log_("the nearest versions do not go together: trying newer ones");
    question.requirements = loosened(replaced.requirements, replaced.moved);
    packages = resolver.ask(question, true);
    if (conflict() && python_.substitution) {
      log_("nor do they with the other pins: trying newer ones of all");
      question.requirements = loosened(replaced.requirements, {});
      packages = resolver.ask(question, true);
    }
    if (packages) tell_final_versions(*packages, replaced);
    return packages;
  }

  // Exact pins of these names (empty: of all) as lower bounds.
  static std::vector<std::string> loosened(std::vector<std::string> requirements,
                                           const std::vector<std::string>& names) {
    for (auto& one : requirements)
      if (!is_direct_reference(one) && exact_pin(one) &&
          (names.empty() || std::ranges::find(names, distribution_name(one)) != names.end()))
        one.replace(one.find("=="), 2, ">=");
    return requirements;
  }

  // Wheels out of the run's source folder are kept by their digest: the folder is gone when a lock is realised again.
  Result<void> keep_source_files(LockedPackage& one, const PylockPackage& package) {
    std::vector<PylockFile> files = package.wheels;
    if (package.archive) files.push_back(*package.archive);
    for (const auto& file : files) {
      LATHE_TRY(auto path, file_of_source_folder(settings_, file.location));
      if (path.empty()) continue;
      one.source = PackageSource::file;
      LATHE_TRY_VOID(keep_file(settings_, path, file.name, file.sha256));
    }
    return {};
  }

  void tell_final_versions(const std::vector<PylockPackage>& packages, Replaced& replaced) {
    for (const auto& requirement : replaced.requirements) {
      auto pin = is_direct_reference(requirement) ? std::nullopt : exact_pin(requirement);
      auto found = std::ranges::find(packages, distribution_name(requirement), &PylockPackage::name);
      if (!pin || found == packages.end() || compare_versions(found->version, *pin) == 0) continue;
      const std::string given = fmt::format("{}=={}", found->name, found->version);
      auto known = std::ranges::find(replaced.substitutions, requirement, &Substitution::given);
      if (known != replaced.substitutions.end())
        known->given = given;
      else
        replaced.substitutions.push_back(
            {"nearest", requirement, given, "it does not go together with what was replaced"});
      log_(fmt::format("replaced: {} -> {} (so that all go together; rule nearest)", requirement, given));
    }
  }

  Settings settings_;  // with the image, once it is known
  const Spec& spec_;
  const LogSink& log_;
  std::stop_token stop_;
  Substitutions table_;
  std::optional<Uv> uv_;
  PythonChoice python_;
  LockContent content_;
};

}  // namespace

Result<Lock> make_lock(const Settings& settings, const Spec& spec, const LogSink& log, std::stop_token stop) {
  Settings complete = settings;
  if (complete.cache.empty()) complete.cache = default_cache();
  return Locker(complete, spec, log, std::move(stop)).run();
}

}  // namespace lathe::envs

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "envs/resources.h"
#include "envs/source_build.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Error;

const LockedPackage* find_package(const LockContent& lock, std::string_view name) {
  auto found = std::ranges::find(lock.packages, name, &LockedPackage::name);
  return found == lock.packages.end() ? nullptr : &*found;
}

void add_variables(BuildRule& rule, const YAML::Node& map) {
  for (const auto& entry : map) rule.variables[entry.first.Scalar()] = entry.second.Scalar();
}

// Every group of which the lock has a package; what it has none of is built without.
void add_with(BuildRule& rule, const LockContent& lock, const YAML::Node& groups) {
  for (const auto& group : groups)
    for (const auto& name : group["packages"])
      if (find_package(lock, name.Scalar()) && rule.with.empty()) {
        rule.with.push_back(name.Scalar());
        add_variables(rule, group["variables"]);
      }
}

std::string search_path() {
  const char* path = std::getenv("PATH");
  return path ? path : "/usr/bin:/bin";
}

// Debian's own python3 has its headers in a package of their own; others bring them along.
bool has_headers(const fs::path& python) {
  std::error_code ignored;
  const std::string name = python.filename().string();
  for (const char* suffix : {"", "m"})
    if (fs::exists(python.parent_path().parent_path() / "include" / (name + suffix) / "Python.h", ignored)) return true;
  return false;
}

}  // namespace

std::optional<BuildRule> build_rule(const LockContent& lock, const std::string& package) {
  const LockedPackage* locked = find_package(lock, package);
  if (!locked || locked->source != PackageSource::built) return std::nullopt;
  // Read anew: nodes of yaml-cpp must not be shared between threads.
  const YAML::Node rules = YAML::Load(std::string(resource("source_builds.yaml"))), node = rules[package];
  if (!node) return std::nullopt;
  BuildRule rule;
  for (const auto& item : node["requires"]) rule.requires_.push_back(item.Scalar());
  add_variables(rule, node["variables"]);
  add_with(rule, lock, node["with"]);
  for (const auto& entry : node["programs"]) rule.programs[entry.first.Scalar()] = entry.second.Scalar();
  rule.mpi = node["mpi"] && node["mpi"].as<bool>();
  return rule;
}

base::Result<void> check_programs(const std::string& package, const BuildRule& rule, const fs::path& python) {
  std::string missing, debian;
  auto need = [&](const std::string& what, const std::string& name) {
    missing += (missing.empty() ? "" : ", ") + what;
    if (debian.find(" " + name) == std::string::npos) debian += " " + name;
  };
  for (const auto& [program, name] : rule.programs)
    if (sys::find_program(program, search_path()).empty()) need(program, name);
  if (!rule.programs.empty() && !has_headers(python))
    need("Python.h", python.string().starts_with("/usr/bin/") ? "python3-dev" : "the headers of " + python.string());
  if (missing.empty()) return {};
  return base::fail(
      Error(Code::unavailable, fmt::format("{} must be built from source, and this machine lacks {}", package, missing))
          .hint("sudo apt-get install -y" + debian));
}

std::string mpi_version(std::stop_token stop) {
  const std::string mpirun = sys::find_program("mpirun", search_path());
  if (mpirun.empty()) return {};
  auto result = sys::run_command({{mpirun, "--version"}, sys::current_environment(), {}}, {}, stop);
  // "mpirun (Open MPI) 4.1.4"
  std::string first = result ? result->output.substr(0, result->output.find('\n')) : "";
  return first.substr(first.rfind(' ') + 1);
}

std::string build_key(const LockContent& lock, const LockedPackage& package, const BuildRule& rule,
                      const std::string& mpi) {
  std::string text = fmt::format("{}\npython {}\nplatform {}{}\nmpi {}\n", package.files.at(0).sha256.hex(),
                                 lock.python, lock.platform, lock.image.wanted() ? " " + lock.image.id : "", mpi);
  for (const auto& name : rule.with)
    if (const auto* other = find_package(lock, name)) text += fmt::format("{} {}\n", other->name, other->version);
  for (const auto& [name, value] : rule.variables) text += fmt::format("{}={}\n", name, value);
  return fmt::format("{}-{}-{}", package.name, package.version, base::sha256(text).hex().substr(0, 16));
}

}  // namespace lathe::envs

#include "envs/lock.h"

namespace lathe::envs {
namespace {

std::string python_line(const LockContent& lock) {
  if (!lock.interpreter.empty()) return fmt::format("python        {} (managed by the user)\n", lock.interpreter);
  if (lock.python_asked.empty()) return fmt::format("python        {} (none was asked for)\n", lock.python);
  return fmt::format("python        {} (asked: {})\n", lock.python, lock.python_asked);
}

std::string packages_line(const LockContent& lock) {
  std::size_t built = 0;
  for (const auto& package : lock.packages)
    built += package.source == PackageSource::built || package.source == PackageSource::git;
  std::string out = fmt::format("packages      {}", lock.packages.size());
  if (built > 0) out += fmt::format(", {} of them built from source", built);
  if (!lock.conda.empty()) out += fmt::format("; {} conda packages", lock.conda.size());
  return out + "\n";
}

}  // namespace

std::string explain(const Lock& lock) {
  const LockContent& content = lock.content;
  std::string out = fmt::format("lock          {}\n", lock.digest.hex());
  out += python_line(content);
  if (content.era.as_of.empty())
    out += fmt::format("packages of   today: {}\n", content.era.because);
  else
    out += fmt::format("packages of   {}: {}\n", content.era.as_of.substr(0, 10), content.era.because);
  out += packages_line(content);
  if (!content.sdk_version.empty()) out += fmt::format("sdk           lathe-sdk {}\n", content.sdk_version);
  if (content.image.wanted())
    out += fmt::format("image         {} {}\n",
                       content.image.reference.empty() ? "of a Dockerfile" : content.image.reference,
                       content.image.id.substr(0, 12));
  if (content.substitutions.empty()) return out + "replaced      nothing: everything is as asked\n";
  out += "replaced\n";
  for (const auto& one : content.substitutions)
    out += fmt::format("  {} -> {}: {} (rule {})\n", one.asked, one.given, one.why, one.rule);
  return out;
}

}  // namespace lathe::envs

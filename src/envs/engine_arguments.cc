#include "envs/engine_arguments.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/strings.h"

namespace lathe::envs {
namespace {

using base::Code;
using base::Error;

constexpr const char* kField = "docker.arguments";

std::string_view name_of(std::string_view option) { return option.substr(0, option.find('=')); }

bool is_ours(std::string_view option) {
  static const std::set<std::string_view> kLong{
      "--attach",  "--cgroup-parent", "--cgroups",     "--cidfile", "--conmon-pidfile", "--detach",  "--entrypoint",
      "--help",    "--interactive",   "--log-driver",  "--log-opt", "--name",           "--net",     "--network",
      "--pidfile", "--pod",           "--pod-id-file", "--pull",    "--replace",        "--restart", "--rm",
      "--rootfs",  "--sig-proxy",     "--stop-signal", "--tty",     "--user",           "--userns",  "--workdir"};
  const auto name = name_of(option);
  if (name.starts_with("--")) return kLong.contains(name);
  // -P and -q take no value, so that what follows in the same text would be further options.
  constexpr std::string_view kShort = "adituw", kWithoutValue = "Pq";
  return kShort.contains(name[1]) || (kWithoutValue.contains(name[1]) && name.size() > 2);
}

base::Result<void> add(std::vector<std::string>& out, std::string_view text) {
  text = base::trim(text);
  if (text.empty()) return {};
  if (text.starts_with('-')) {
    // "-v /data:/data" as one text.
    const auto space = text.find(' ');
    const bool in_two = space != text.npos && space < text.find('=');
    out.emplace_back(text.substr(0, in_two ? space : text.npos));
    return in_two ? add(out, text.substr(space + 1)) : base::Result<void>();
  }
  if (out.empty() || out.back().find('=') != std::string::npos)
    return base::fail(Error(Code::invalid, fmt::format("'{}' is not an option of the engine", base::printable(text)))
                          .field(kField)
                          .hint("options begin with '-', e.g. --cpus=2"));
  out.back() += "=" + std::string(text);
  return {};
}

bool is_size(std::string_view text) {
  const auto digits = text.find_first_not_of("0123456789");
  return digits != 0 && !text.empty() &&
         (digits == text.npos ||
          (digits + 1 == text.size() && std::string_view("bkmgBKMG").find(text[digits]) != std::string_view::npos));
}

bool has(const std::vector<std::string>& arguments, std::string_view name) {
  return std::ranges::any_of(arguments, [&](const auto& one) { return name_of(one) == name; });
}

}  // namespace

base::Result<std::vector<std::string>> engine_arguments(const std::vector<std::string>& given,
                                                        const std::string& shm_size) {
  std::vector<std::string> out;
  for (const auto& text : given) LATHE_TRY_VOID(add(out, text));
  for (const auto& option : out)
    if (name_of(option) == "-" || name_of(option) == "--" || is_ours(option))
      return base::fail(
          Error(Code::invalid, fmt::format("{} cannot be given to the engine", base::printable(name_of(option))))
              .field(kField)
              .hint("leave it out: the container's name, user, network, folder, log and end are Lathe's to say"));
  if (shm_size.empty()) return out;
  if (!is_size(shm_size))
    return base::fail(Error(Code::invalid, fmt::format("'{}' is not a size", base::printable(shm_size)))
                          .field("docker.shmSize")
                          .hint("write e.g. 2g or 512m"));
  // With the node's own memory there is no size to set, and an argument says the same more exactly.
  if (!wants_own_memory(out)) out.push_back("--shm-size=" + shm_size);
  return out;
}

bool wants_own_memory(const std::vector<std::string>& arguments) {
  return has(arguments, "--shm-size") || has(arguments, "--ipc");
}

bool stays_inside(std::string_view argument) {
  static const std::set<std::string_view> kHarmless{
      "--add-host",    "--blkio-weight",       "--cap-drop",    "--cpu-period",        "--cpu-quota",
      "--cpu-shares",  "--cpus",               "--cpuset-cpus", "--cpuset-mems",       "--dns",
      "--dns-option",  "--dns-search",         "--hostname",    "--init",              "--label",
      "--memory",      "--memory-reservation", "--memory-swap", "--memory-swappiness", "--oom-score-adj",
      "--pids-limit",  "--read-only",          "--shm-size",    "--stop-timeout",      "--tmpfs",
      "--ulimit",      "-c",                   "-h",            "-l",                  "-m"};
  const auto name = name_of(argument);
  const auto value = name.size() < argument.size() ? argument.substr(name.size() + 1) : std::string_view();
  // Without a value, or with a pattern for a name, it would be one of the engine's own environment.
  if (name == "-e" || name == "--env") return value.contains('=') && !value.substr(0, value.find('=')).contains('*');
  // The node's memory is what a container gets anyway; that of another container is not the run's.
  if (name == "--ipc") return value == "host" || value == "private" || value == "none" || value == "shareable";
  if (name == "--security-opt") return value == "no-new-privileges" || value == "no-new-privileges:true";
  return kHarmless.contains(name);
}

base::Result<void> check_allowed(const Settings& settings, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return {};
  if (settings.engine_arguments) {
    auto outside = std::ranges::find_if_not(arguments, stays_inside);
    if (settings.engine_host_arguments || outside == arguments.end()) return {};
    return base::fail(
        Error(Code::forbidden, fmt::format("{} may reach the machine itself, which this site does not allow",
                                           base::printable(name_of(*outside))))
            .field(kField)
            .hint("leave it out: files come as inputs of the run; or allow it: environments: {engine_host_arguments: "
                  "true}"));
  }
  return base::fail(
      Error(Code::forbidden, fmt::format("this site gives no arguments to the container engine: {}", arguments.front()))
          .field(kField)
          .hint("leave docker.arguments and shm_size out, or allow them: environments: {engine_arguments: true}"));
}

}  // namespace lathe::envs

#include "envs/container_engine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "base/strings.h"
#include "envs/engine_arguments.h"
#include "sys/command.h"
#include "sys/machine.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Error;
using base::Result;

std::string search_path() {
  const char* path = std::getenv("PATH");
  return fmt::format("{}:/usr/local/bin:/usr/bin:/usr/sbin", path ? path : "");
}

// podman asks for more than a user may have on many machines, and then fails; our own limits are always allowed.
std::string limit(const char* name, __rlimit_resource which) {
  constexpr rlim_t kMost = 16'384;  // what the engine itself may raise a container to is less than its own
  rlimit own{};
  ::getrlimit(which, &own);
  return fmt::format("--ulimit={}={}:{}", name, std::min(own.rlim_cur, kMost), std::min(own.rlim_max, kMost));
}

Error no_engine(std::string_view why) {
  return Error(Code::unsupported, fmt::format("an image needs podman or docker: {}", why))
      .field("docker")
      .hint("apt-get install podman runc; or name the packages in the conda dependencies and leave the image out");
}

}  // namespace

bool has_meaning_in_images(std::string_view variable) {
  static const std::set<std::string_view> kOfTheNode{"PATH", "HOME",   "PWD",  "OLDPWD",  "SHELL",    "SHLVL",
                                                     "TERM", "TMPDIR", "USER", "LOGNAME", "HOSTNAME", "_"};
  return !kOfTheNode.contains(variable) && !variable.starts_with("LD_") && !variable.starts_with("XDG_");
}

ContainerEngine::ContainerEngine(fs::path program)
    : program_(std::move(program)), is_podman_(program_.filename() != "docker") {}

Result<ContainerEngine> ContainerEngine::find(const fs::path& wanted) {
  if (wanted == "none") return base::fail(no_engine("this site uses none"));
  if (!wanted.empty()) {
    if (::access(wanted.c_str(), X_OK) == 0) return ContainerEngine(wanted);
    return base::fail(no_engine(wanted.string() + " is not a program"));
  }
  for (const char* name : {"podman", "docker"})
    if (auto found = sys::find_program(name, search_path()); !found.empty()) return ContainerEngine(found);
  return base::fail(no_engine("neither is on this node"));
}

ContainerEngine ContainerEngine::with(std::vector<std::string> environment) const {
  ContainerEngine out = *this;
  out.environment_ = std::move(environment);
  return out;
}

Result<std::string> ContainerEngine::ask(std::vector<std::string> arguments, const LogSink& log,
                                         std::stop_token stop) const {
  arguments.insert(arguments.begin(), program_.string());
  std::string last;
  auto take = [&](std::string_view line) {
    last = line;
    if (log) log(line);
  };
  // podman without root keeps a process for its name space, and monitors tidy up after it.
  const auto environment = environment_ ? *environment_ : sys::current_environment();
  LATHE_TRY(auto result, sys::run_command({std::move(arguments), environment, {}, true}, take, stop));
  if (result.status != 0) return base::fail(Code::upstream, "{}", base::printable(last));
  return std::string(base::trim(result.output));
}

Result<ImageFacts> ContainerEngine::inspect(const std::string& reference, std::stop_token stop) const {
  const std::string format = is_podman_ ? "{{.Id}} {{.Digest}}" : "{{.Id}} {{with .RepoDigests}}{{index . 0}}{{end}}";
  LATHE_TRY(auto answer, ask({"image", "inspect", "--format", format, reference}, {}, stop));
  const auto space = answer.find(' ');
  ImageFacts facts{answer.substr(0, space), space == answer.npos ? "" : answer.substr(space + 1)};
  if (facts.id.starts_with("sha256:")) facts.id.erase(0, 7);
  if (auto at = facts.manifest.find('@'); at != std::string::npos) facts.manifest.erase(0, at + 1);
  return facts;
}

bool ContainerEngine::has_image(const std::string& id, std::stop_token stop) const {
  return inspect(id, std::move(stop)).has_value();
}

Result<ImageFacts> ContainerEngine::get_image(const std::string& reference, const LogSink& log,
                                              std::stop_token stop) const {
  if (auto here = inspect(reference, stop)) return here;
  log(fmt::format("pulling the image {}", base::printable(reference)));
  auto pulled = ask({"pull", reference}, log, stop);
  if (pulled) return inspect(reference, stop);
  if (pulled.error().code() == Code::cancelled) return std::unexpected(pulled.error());
  return base::fail(Error(Code::not_found, fmt::format("the image {} is not on this node and cannot be pulled: {}",
                                                       base::printable(reference), pulled.error().message()))
                        .field("docker.baseImage")
                        .hint("check its name and the network; a rule of the substitution table can replace it"));
}

Result<ImageFacts> ContainerEngine::build_image(const std::string& dockerfile, const fs::path& folder,
                                                const LogSink& log, std::stop_token stop) const {
  const fs::path file = folder / "Dockerfile", context = folder / "context";
  std::error_code failed;
  fs::create_directories(context, failed);
  std::ofstream(file) << dockerfile;
  std::vector<std::string> arguments{"build",       "--quiet=false", "--file",
                                     file.string(), "--iidfile",     (folder / "id").string()};
  // The parent's namespaces are enough for a build, and nested containers are not to be had everywhere.
  if (is_podman_ && ::geteuid() == 0) arguments.insert(arguments.end(), {"--isolation=chroot", "--network=host"});
  // Steps in a network of their own cannot reach a proxy of ours on the loopback; the engine itself does.
  if (is_podman_ && ::geteuid() != 0 && environment_) arguments.emplace_back("--http-proxy=false");
  arguments.push_back(context.string());
  log("building the image of the Dockerfile");
  auto built = ask(std::move(arguments), log, stop);
  if (!built && built.error().code() == Code::cancelled) return std::unexpected(built.error());
  if (!built)
    return base::fail(
        Error(Code::upstream, fmt::format("the Dockerfile could not be built: {}", built.error().message()))
            .field("docker.baseDockerfile")
            .hint("the build log says more; ADD and COPY find no files, because it has none beside it"));
  std::string id;
  std::ifstream(folder / "id") >> id;
  return inspect(id, std::move(stop));
}

// A volume's fields are told apart by colons, which a path may hold; a mount's are those of a line of CSV.
std::string mount_argument(const Bind& bind) {
  std::string path;
  for (char c : bind.path.string()) path += c == '"' ? "\"\"" : std::string(1, c);
  return fmt::format("--mount=type=bind,\"src={0}\",\"dst={0}\"{1}", path, bind.read_only ? ",readonly" : "");
}

std::vector<std::string> ContainerEngine::command(const ContainerRun& run) const {
  std::vector<std::string> out{program_.string()};
  if (is_podman_ && ::geteuid() == 0) {
    out.emplace_back("--cgroup-manager=cgroupfs");
    if (!sys::find_program("runc", search_path()).empty()) out.emplace_back("--runtime=runc");
  }
  // No entry point of the image: the program is ours to say. The node's own network and shared memory, as without one.
  out.insert(out.end(), {"run", "--pull=never", "--network=host", "--entrypoint="});
  const bool own_memory = wants_own_memory(run.arguments);
  if (!own_memory && !run.is_confined) out.emplace_back("--ipc=host");
  // As much as a box has: half of the memory, of which only what is used counts.
  if (!own_memory && run.is_confined)
    out.push_back(fmt::format("--shm-size={}b", std::max<std::int64_t>(sys::read_machine().memory_bytes / 2, 64 << 20)));
  if (run.is_confined) out.insert(out.end(), {"--cap-drop=all", "--security-opt=no-new-privileges"});
  if (run.processes > 0 && ::geteuid() == 0) out.push_back(fmt::format("--pids-limit={}", run.processes));
  out.push_back(limit("nofile", RLIMIT_NOFILE));
  out.push_back(limit("nproc", RLIMIT_NPROC));
  if (is_podman_) out.emplace_back("--log-driver=passthrough");
  if (is_podman_ && ::geteuid() != 0) out.emplace_back("--userns=keep-id");
  if (!run.user.empty())
    out.push_back("--user=" + run.user);
  else if (!is_podman_)
    out.push_back(fmt::format("--user={}:{}", ::geteuid(), ::getegid()));
  if (!run.home.empty()) out.push_back("--env=HOME=" + run.home.string());
  if (run.all_gpus) out.emplace_back(is_podman_ ? "--device=nvidia.com/gpu=all" : "--gpus=all");
  if (!run.is_kept) out.emplace_back("--rm");
  if (!run.cgroup.empty()) out.push_back("--cgroup-parent=" + run.cgroup);
  if (!run.name.empty()) out.push_back("--name=" + run.name);
  if (!run.directory.empty()) out.push_back("--workdir=" + run.directory);
  for (const auto& bind : run.binds) out.push_back(mount_argument(bind));
  for (const auto& name : run.variables) out.push_back("--env=" + name);
  out.insert(out.end(), run.arguments.begin(), run.arguments.end());
  out.push_back(run.image);
  out.insert(out.end(), run.argv.begin(), run.argv.end());
  return out;
}

void ContainerEngine::remove(const std::string& name) const {
  (void)sys::run_command({remove_command(name), sys::current_environment(), {}, true}, {}, {});
}

}  // namespace lathe::envs

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/strings.h"
#include "cli/doctor.h"
#include "cli/files.h"
#include "sys/box.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

// Whether this process may make control groups below its own.
Finding control_groups() {
  Finding out{.what = "control groups"};
  auto text = read_small_file("/proc/self/cgroup", 1 << 16);
  std::error_code error;
  bool unified = fs::exists("/sys/fs/cgroup/cgroup.controllers", error);
  fs::path own = "/sys/fs/cgroup";
  if (text)
    for (auto line : base::split(*text, '\n')) {
      auto path = line.substr(std::min(line.size(), line.rfind(':') + 1));
      if (unified && line.starts_with("0::") && path.size() > 1) own /= std::string(path.substr(1));
      if (!unified && line.find(":memory:") != line.npos && !path.empty())
        own = fs::path("/sys/fs/cgroup/memory") / std::string(path.substr(1));
    }
  out.detail = fmt::format("version {}, {}", unified ? 2 : 1, own.string());
  if (::access(own.c_str(), W_OK) == 0) return out;
  out.verdict = Verdict::warning;
  out.detail += " is not writable";
  out.advice =
      "memory limits are not enforced and trees are tracked by process instead; run the server from "
      "packaging/lathe.service (Delegate=yes)";
  return out;
}

Finding user_namespaces() {
  Finding out{.what = "user namespaces"};
  auto limit = read_small_file("/proc/sys/user/max_user_namespaces", 64);
  auto debian = read_small_file("/proc/sys/kernel/unprivileged_userns_clone", 64);
  bool allowed = limit && base::trim(*limit) != "0" && (!debian || base::trim(*debian) != "0" || ::geteuid() == 0);
  if (allowed) return out.detail = "allowed", out;
  out.verdict = Verdict::warning;
  out.detail = "not allowed";
  out.advice = "sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000";
  return out;
}

// What a run is kept from, and by what.
Finding boxes() {
  const auto why = sys::probe_box();
  if (why.empty())
    return {.what = "boxes for runs",
            .detail = ::geteuid() == 0 ? "namespaces, system call filter, a user for each run"
                                       : "namespaces, system call filter; runs have this user"};
  return {.what = "boxes for runs",
          .verdict = Verdict::warning,
          .detail = "not to be had: " + why,
          .advice = "a run can read the server's folder, keys and environment, whoever submitted it, and a process that "
                    "leaves it may outlive it: give tokens only to people you trust, or allow user namespaces"};
}

Finding fuse() {
  const std::string advice =
      "only for mounting datasets that are not local, and whole datastores: apt install libfuse3-3";
  if (::access("/dev/fuse", R_OK | W_OK) != 0) return {"FUSE", Verdict::missing, "/dev/fuse cannot be opened", advice};
  void* library = ::dlopen("libfuse3.so.3", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return {"FUSE", Verdict::missing, "no libfuse3", advice};
  ::dlclose(library);
  return {.what = "FUSE", .detail = "/dev/fuse, libfuse3"};
}

Finding gpus() {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return {"GPU", Verdict::missing, "no NVML library", "only for NVIDIA GPUs: install the NVIDIA driver"};
  auto init = reinterpret_cast<int (*)()>(::dlsym(library, "nvmlInit_v2"));
  auto count = reinterpret_cast<int (*)(unsigned*)>(::dlsym(library, "nvmlDeviceGetCount_v2"));
  auto shutdown = reinterpret_cast<int (*)()>(::dlsym(library, "nvmlShutdown"));
  unsigned devices = 0;
  bool works = init && count && init() == 0 && count(&devices) == 0;
  if (shutdown) shutdown();
  ::dlclose(library);
  if (works && devices > 0) return {.what = "GPU", .detail = fmt::format("{} NVIDIA GPU(s)", devices)};
  return {"GPU", Verdict::missing, "NVML finds no GPU", "only for GPU runs: check that nvidia-smi works"};
}

Finding open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  Finding out{.what = "open files", .detail = fmt::format("{} (at most {})", limit.rlim_cur, limit.rlim_max)};
  if (limit.rlim_max >= 4096) return out;
  out.verdict = Verdict::warning;
  out.advice = "raise the limit: ulimit -Hn 65536, or LimitNOFILE= in the unit";
  return out;
}

Finding clock_state() {
  timex state{};
  bool synchronised = ::adjtimex(&state) != TIME_ERROR;
  if (synchronised) return {.what = "clock", .detail = "synchronised"};
  return {"clock", Verdict::warning, "not synchronised", "times of runs may jump: apt install systemd-timesyncd"};
}

}  // namespace

std::vector<Finding> examine_kernel() {
  return {control_groups(), user_namespaces(), boxes(), fuse(), gpus(), open_files(), clock_state()};
}

}  // namespace lathe::cli

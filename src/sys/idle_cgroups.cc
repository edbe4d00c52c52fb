#include "sys/idle_cgroups.h"

#include <unistd.h>

#include <cstdio>

namespace lathe::sys {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "lathe-idle-";

pid_t keeper = 0;

bool is_kept() { return keeper != 0 && keeper == ::getppid(); }

fs::path idle_place(const fs::path& group, const std::string& slot) {
  return group.parent_path() / (std::string(kPrefix) + slot);
}

}  // namespace

void share_idle_cgroups() { keeper = ::getpid(); }

void remove_idle_cgroups(const fs::path& parent) {
  std::error_code failed;
  for (fs::directory_iterator entry(parent, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed))
    if (entry->path().filename().string().starts_with(kPrefix)) ::rmdir(entry->path().c_str());
}

bool take_idle_cgroup(const std::string& slot, const fs::path& group) {
  return is_kept() && std::rename(idle_place(group, slot).c_str(), group.c_str()) == 0;
}

bool leave_idle_cgroup(const fs::path& group, const std::string& slot) {
  return is_kept() && std::rename(group.c_str(), idle_place(group, slot).c_str()) == 0;
}

}  // namespace lathe::sys

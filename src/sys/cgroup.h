// Cgroup: a control group of one run, below or beside our own, in a unified (v2) or an older (v1: memory and cpu)
// hierarchy. Owned by whoever creates it; the folder goes away with it. Where this user may not make one, create() says
// so (unsupported or forbidden) and the caller does without: the process tree is then tracked by its subreaper alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sys/fd.h"

namespace lathe::sys {

struct CgroupLimits {
  std::int64_t memory_bytes = 0;  // 0: none
  std::int64_t millicores = 0;    // weight among the groups of this machine; 0: the default
};

// Where the hierarchies are and where this process stands in them.
struct CgroupPlace {
  std::filesystem::path unified;            // our folder in the v2 hierarchy; empty when there is none
  std::filesystem::path memory_v1, cpu_v1;  // our folders in the v1 hierarchies
};
// From the text of /proc/self/cgroup and /proc/self/mountinfo.
CgroupPlace find_cgroup_place(std::string_view own_cgroups, std::string_view mounts);
// For a process that forks many that will ask: it looks once, and they need not. What its children leave idle
// (Cgroup::leave_idle) it removes at its end.
void remember_cgroup_place();
void forget_cgroup_place();

class Cgroup {
 public:
  // `name` is one path part. With a slot it may be one that was left idle there (sys/idle_cgroups.h).
  static base::Result<Cgroup> create(const std::string& name, const CgroupLimits& limits, const std::string& slot = {});
  Cgroup(Cgroup&&) = default;
  Cgroup& operator=(Cgroup&&) = default;
  // The group must be empty by now; see remove().
  ~Cgroup();

  // For SpawnRequest::cgroups.
  std::vector<int> join_descriptors() const;
  // Whether the kernel killed a process of this group at its memory limit.
  bool out_of_memory() const;
  // Whether the group, with all below it, came to its memory limit. Older hierarchies count a kill only in the group of
  // the process itself.
  bool reached_memory_limit() const;
  // Below the root of its hierarchy, e.g. "/lathe-7": how a container engine wants it named.
  std::string path() const;
  // Kills every process in it at once where the kernel can (v2), else one by one.
  void kill_all() const;
  // Removes the folders; called by the destructor as well.
  void remove();
  // For the next one that looks into the slot. What cannot be left, or is not as it was because it reached its limit,
  // stays ours to remove.
  void leave_idle();
  // Lets go of folders that processes which hang in the kernel keep; see end_tree().
  void abandon();
  // A group of this name that a killed process left, and what a container engine made below it in every hierarchy. All
  // must be empty.
  static void remove_tree(const std::string& name);
  // Kills every process in such a group until it is seen empty, and removes it. How many are left after the limit: they
  // hang in the kernel.
  static int end_tree(const std::string& name, std::chrono::milliseconds limit);

 private:
  Cgroup() = default;
  base::Result<void> enter(const std::filesystem::path& folder, const char* join_file, std::string idle_slot = {});
  static base::Result<Cgroup> create_in(const CgroupPlace& place, const std::string& name, const CgroupLimits& limits,
                                        const std::string& slot);
  static base::Result<Cgroup> create_unified(const CgroupPlace& place, const std::string& name,
                                             const CgroupLimits& limits);
  static base::Result<Cgroup> create_v1(const CgroupPlace& place, const std::string& name, const CgroupLimits& limits,
                                        const std::string& slot);

  struct Folder {
    std::filesystem::path path;
    Fd procs;
    std::string idle_slot;  // with the limit in its name; empty: it is not left idle
    bool taken = false;     // with its limits, from there
  };
  std::vector<Folder> folders_;
  bool unified_ = false;
};

}  // namespace lathe::sys

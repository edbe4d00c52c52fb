// Idle control groups. To make and remove the groups of a run costs about as much as its program, so a run that leaves
// its groups as it found them leaves them to the next one with the same limits: they are only renamed. Older
// hierarchies (v1) alone can rename. Only among the children of one process, which removes at its end what they left;
// where that process is gone, or there is none, nothing is left idle.
#pragma once

#include <filesystem>
#include <string>

namespace lathe::sys {

// In the process that forks the others, before it does.
void share_idle_cgroups();
// In that process, at its end. A child that looks for it at this very moment may leave one group more: the next one's.
void remove_idle_cgroups(const std::filesystem::path& parent);

// `slot`, one path part, is where to look: at most one group lies there, and whoever renames it first has it.
bool take_idle_cgroup(const std::string& slot, const std::filesystem::path& group);
bool leave_idle_cgroup(const std::filesystem::path& group, const std::string& slot);

}  // namespace lathe::sys

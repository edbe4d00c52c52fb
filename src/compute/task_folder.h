// The folder of one node task on this machine: what its locks tell about the runner, and taking, keeping and clearing
// it. Blocking; called on the pool. What cannot be looked at now (no descriptors, a disk that is away) is an error that
// is thrown, never an answer: only ENOENT means "not there". Two locks (flock) say who lives: the one on the folder is
// taken before a runner is started and inherited by it; the one on spool/spool.json is the runner's own, held as long
// as a process of its run lives.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "compute/provider.h"
#include "sys/fd.h"

namespace lathe::compute {

// Of a folder that is not there, too: its runner may live although somebody has moved the folder away.
Provider::Found look_at_folder(const std::filesystem::path& folder);
// Nothing of a task is in it but empty files: a runner empties its run folder before its spool, and keeps the spool's
// header when it could not.
bool is_bare(const std::filesystem::path& folder);
// no_space when a runner could not even begin in a folder of `work`: told before it is started, this makes its run wait
// instead of fail.
base::Result<void> check_room(const std::filesystem::path& work);
// The folder, locked and bare. conflict while a runner lives in it or a spool is left.
base::Result<sys::Fd> take_folder(const std::filesystem::path& folder);
// Removes the folder, unless it is kept. False when something of its task still lives.
bool clear_folder(const std::filesystem::path& folder);
// From now on clear_folder() leaves it alone: what is in it could not be delivered. False when nothing is.
bool keep_folder(const std::filesystem::path& folder);
// The reverse of TaskName::text().
std::optional<TaskName> parse_task(std::string_view text);

}  // namespace lathe::compute

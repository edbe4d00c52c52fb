// Who holds a lock on a file, without touching the lock: trying to take it oneself could keep another one from it.
#pragma once

#include <sys/types.h>

#include <vector>

namespace lathe::sys {

// The processes that hold a flock on a file with this inode; 0 for one that has no number here. The device is not
// compared: some file systems show another one in /proc/locks than stat() does.
std::vector<pid_t> lock_holders(ino_t inode);

}  // namespace lathe::sys

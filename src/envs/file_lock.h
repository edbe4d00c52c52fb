// flock with a way to give up: the lock of one piece of work across threads and processes. The kernel drops it when its
// holder dies. The lock's file stays, so that nobody holds a lock on a file that is no longer there.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>

#include "base/error.h"
#include "sys/fd.h"

namespace lathe::envs {

// Held shared while packages are linked from uv's cache, exclusively while unused ones are removed from it.
inline constexpr const char* kPackagesLock = "packages";

enum class LockKind { shared, exclusive };

// Nothing when another one holds it.
base::Result<std::optional<sys::Fd>> try_lock(const std::filesystem::path& path, LockKind kind);

// Waits; `on_wait` is called once when it has to. `cancelled` when stopped.
base::Result<sys::Fd> wait_for_lock(const std::filesystem::path& path, LockKind kind,
                                    const std::function<void()>& on_wait, std::stop_token stop);

}  // namespace lathe::envs

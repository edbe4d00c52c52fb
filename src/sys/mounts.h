// Mounts that only the processes of one run see. A process enters a mount namespace of its own and mounts there; its
// children inherit it. Nothing is ever to be cleaned up: the kernel takes the mounts away with the last process,
// whoever is killed in which order. Where namespaces are not to be had every call is Error(unsupported), and the caller
// copies instead.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "sys/fd.h"

namespace lathe::sys {

// From now on this process's mounts are its own; mounts made outside still appear inside. Where it is not root it also
// gets a user namespace with its own user and group mapped, which the kernel allows only to a process with one thread.
base::Result<void> enter_mount_namespace();

// `from` appears at `to` (both exist), read-only, without devices and set-user-id programs.
base::Result<void> bind_read_only(const std::filesystem::path& from, const std::filesystem::path& to);

// As it is, writable.
base::Result<void> bind(const std::filesystem::path& from, const std::filesystem::path& to);

// A FUSE file system at `to`, read-only; whoever serves it does so through the descriptor. While nobody does, whoever
// looks into `to` waits; when the descriptor is closed, all of them get ENOTCONN.
base::Result<Fd> mount_fuse(const std::filesystem::path& to);

// At once for new lookups; what is still open stays until it is closed. Nothing when nothing is mounted there.
void unmount(const std::filesystem::path& where);

}  // namespace lathe::sys

// Mounts that only the processes of one run see. A process enters a mount namespace of its own and mounts there; its
// children inherit it. Nothing is ever to be cleaned up: the kernel takes the mounts away with the last process,
// whoever is killed in which order. Where namespaces are not to be had every call is Error(unsupported), and the caller
// copies instead.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/error.h"
#include "sys/fd.h"

namespace lathe::sys {

// Where mounts are made for a program: in a namespace that this process is in itself, or in a box (sys/box.h).
class Mounts {
 public:
  virtual ~Mounts() = default;
  // As the functions below.
  virtual base::Result<void> bind_read_only(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  virtual base::Result<void> bind(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  virtual base::Result<Fd> mount_fuse(const std::filesystem::path& to) = 0;
  virtual void unmount(const std::filesystem::path& where) = 0;
};

// From now on this process's mounts are its own; mounts made outside still appear inside. Where it is not root it also
// gets a user namespace with its own user and group mapped, which the kernel allows only to a process with one thread.
base::Result<void> enter_mount_namespace();

// In a new user namespace: its own ids mean the same inside as outside, so that files and processes look as before.
base::Result<void> map_own_user(uid_t user, gid_t group);

// `from` appears at `to` (both exist), read-only, without devices and set-user-id programs.
base::Result<void> bind_read_only(const std::filesystem::path& from, const std::filesystem::path& to);

// As it is, writable.
base::Result<void> bind(const std::filesystem::path& from, const std::filesystem::path& to);

// A FUSE file system at `to`, read-only; whoever serves it does so through the descriptor. While nobody does, whoever
// looks into `to` waits; when the descriptor is closed, all of them get ENOTCONN.
base::Result<Fd> mount_fuse(const std::filesystem::path& to);

// At once for new lookups; what is still open stays until it is closed. Nothing when nothing is mounted there.
void unmount(const std::filesystem::path& where);

// In the namespace that this process has entered.
class OwnMounts final : public Mounts {
 public:
  base::Result<void> bind_read_only(const std::filesystem::path& from, const std::filesystem::path& to) override {
    return sys::bind_read_only(from, to);
  }
  base::Result<void> bind(const std::filesystem::path& from, const std::filesystem::path& to) override {
    return sys::bind(from, to);
  }
  base::Result<Fd> mount_fuse(const std::filesystem::path& to) override { return sys::mount_fuse(to); }
  void unmount(const std::filesystem::path& where) override { sys::unmount(where); }
};

}  // namespace lathe::sys

#include "sys/mounts.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

// After linux/mount.h, whose definitions glibc's would repeat.
extern "C" {
int mount(const char* source, const char* target, const char* type, unsigned long flags, const void* data) noexcept;
int umount2(const char* target, int flags) noexcept;
}

namespace lathe::sys {
namespace {

constexpr int kDetach = 2;  // MNT_DETACH

std::unexpected<base::Error> refused(std::string_view doing) {
  const int number = errno;
  const base::Error cause = base::errno_error(number, doing);
  return base::fail(base::Code::unsupported, "{}", cause.text());
}

bool write_text(const char* path, const std::string& text) {
  Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

base::Result<void> bind_with(std::uint64_t flags, const std::filesystem::path& from, const std::filesystem::path& to) {
  Fd tree(static_cast<int>(::syscall(SYS_open_tree, AT_FDCWD, from.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  if (!tree) return refused(fmt::format("binding {}", from.string()));
  mount_attr attributes{};
  attributes.attr_set = flags;
  // Before it has a place: nobody sees it writable for a moment.
  if (::syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0)
    return refused(fmt::format("binding {} with its rights", from.string()));
  if (::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, to.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return refused(fmt::format("mounting at {}", to.string()));
  return {};
}

}  // namespace

base::Result<void> map_own_user(uid_t user, gid_t group) {
  // A process that may not be looked into does not own its files in /proc either.
  const int dumpable = ::prctl(PR_GET_DUMPABLE);
  ::prctl(PR_SET_DUMPABLE, 1);
  const bool mapped = write_text("/proc/self/setgroups", "deny") &&
                      write_text("/proc/self/uid_map", fmt::format("{0} {0} 1", user)) &&
                      write_text("/proc/self/gid_map", fmt::format("{0} {0} 1", group));
  const int number = errno;
  ::prctl(PR_SET_DUMPABLE, dumpable == 1 ? 1 : 0);
  errno = number;
  if (!mapped) return refused("mapping the user of a namespace");
  return {};
}

base::Result<void> enter_mount_namespace() {
  if (::unshare(CLONE_NEWNS) != 0) {
    if (errno != EPERM) return refused("entering a mount namespace");
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return refused("entering a user namespace");
    LATHE_TRY_VOID(map_own_user(user, group));
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return refused("making the mounts private");
  return {};
}

base::Result<void> bind_read_only(const std::filesystem::path& from, const std::filesystem::path& to) {
  return bind_with(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, from, to);
}

base::Result<void> bind(const std::filesystem::path& from, const std::filesystem::path& to) {
  return bind_with(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, from, to);
}

base::Result<Fd> mount_fuse(const std::filesystem::path& to) {
  Fd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!device) return refused("opening /dev/fuse");
  auto options = fmt::format("fd={},rootmode=40000,user_id={},group_id={},default_permissions,allow_other",
                             device.get(), ::geteuid(), ::getegid());
  if (::mount("lathe", to.c_str(), "fuse.lathe", MS_NOSUID | MS_NODEV | MS_RDONLY, options.c_str()) != 0)
    return refused(fmt::format("mounting a FUSE file system at {}", to.string()));
  return device;
}

void unmount(const std::filesystem::path& where) { ::umount2(where.c_str(), kDetach); }

}  // namespace lathe::sys

#include "sys/box_view.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "sys/small_file.h"

// After linux/mount.h, whose definitions glibc's would repeat.
extern "C" {
int mount(const char* source, const char* target, const char* type, unsigned long flags, const void* data) noexcept;
}

namespace lathe::sys {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE
constexpr std::uint64_t kPlain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

std::unexpected<base::Error> refused(std::string_view doing) {
  const base::Error cause = base::errno_error(errno, doing);
  return base::fail(base::Code::unsupported, "{}", cause.text());
}

base::Result<void> mount_new(const char* type, const fs::path& where, const char* options) {
  if (::mount(type, where.c_str(), type, MS_NOSUID | MS_NODEV, options) != 0)
    return refused(fmt::format("mounting {} at {}", type, where.string()));
  return {};
}

int set_attributes(int folder, const char* path, unsigned flags, std::uint64_t set) {
  mount_attr attributes{};
  attributes.attr_set = set;
  return static_cast<int>(::syscall(SYS_mount_setattr, folder, path, flags, &attributes, sizeof attributes));
}

bool is_folder(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

// Below `folder`: the rest of the path, without a slash in front. Null when it is not. It points into `path`.
const char* below(const fs::path& path, const fs::path& folder) {
  if (!path.native().starts_with(folder.native())) return nullptr;
  const char* rest = path.c_str() + folder.native().size();
  return *rest == '\0' ? "." : *rest == '/' ? rest + 1 : nullptr;
}

}  // namespace

// What is shown is opened before anything is hidden, which takes its path away.
base::Result<void> BoxMounts::make() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return refused("making the mounts private");
  std::vector<Fd> own, shown;
  for (const auto& folder : {view_.tmp, view_.var_tmp}) {
    if (folder.empty()) continue;
    LATHE_TRY(Fd tree, open_tree(folder));
    own.push_back(std::move(tree));
  }
  for (const auto& one : view_.shown) {
    LATHE_TRY(Fd tree, open_tree(one.from));
    shown.push_back(std::move(tree));
  }
  std::vector<std::pair<fs::path, Fd>> hidden;
  for (const auto& folder : view_.hidden) {
    Fd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd && errno != ENOENT && errno != ENOTDIR) return refused(fmt::format("hiding {}", folder.string()));
    if (fd) hidden.emplace_back(folder, std::move(fd));
  }
  LATHE_TRY_VOID(make_own_places(own));
  for (auto& [folder, fd] : hidden) LATHE_TRY_VOID(cover(folder, std::move(fd)));
  for (std::size_t i = 0; i < shown.size(); ++i) LATHE_TRY_VOID(attach(shown[i], view_.shown[i]));
  return {};
}

base::Result<void> BoxMounts::make_own_places(const std::vector<Fd>& trees) {
  const char* places[] = {"/tmp", "/var/tmp"};
  for (std::size_t i = 0; i < trees.size(); ++i) {
    covers_.push_back({places[i], Fd(::open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC)), Fd()});
    LATHE_TRY_VOID(attach(trees[i], {{}, places[i], false}));
  }
  if (!view_.is_confined) return {};
  LATHE_TRY_VOID(mount_new("proc", "/proc", nullptr));
  LATHE_TRY_VOID(mount_new("tmpfs", "/dev/shm", "mode=1777"));
  // Who may write there may leave his group, or kill whole ones.
  set_attributes(AT_FDCWD, "/sys/fs/cgroup", kRecursive, MOUNT_ATTR_RDONLY);
  const auto& user = view_.confinement.user;
  if (!user || view_.user_name.empty()) return {};
  LATHE_TRY_VOID(add_name("/etc/passwd", fmt::format("{}:x:{}:{}:a run of Lathe:{}:/bin/sh\n", view_.user_name,
                                                     user->user, user->group, view_.home.string())));
  return add_name("/etc/group", fmt::format("{}:x:{}:\n", view_.user_name, user->group));
}

base::Result<void> BoxMounts::cover(const fs::path& folder, Fd hidden) {
  auto is_hidden = [&] {
    return std::ranges::any_of(covers_, [&](const Cover& one) { return one.above && below(folder, one.path); });
  };
  if (is_hidden()) return {};
  LATHE_TRY_VOID(make_point(folder, true));
  if (is_hidden()) return {};  // with a closed folder on the way to it
  LATHE_TRY_VOID(mount_new("tmpfs", folder, "mode=755,size=1m,nr_inodes=1k"));
  Fd above(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  covers_.push_back({folder, std::move(hidden), std::move(above)});
  return {};
}

base::Result<Fd> BoxMounts::open_tree(const fs::path& from) const {
  // The innermost folder that covers it; of two covers of one folder the first has what was there before us.
  const Cover* best = nullptr;
  for (const auto& cover : covers_)
    if (below(from, cover.path) && (!best || cover.path.native().size() > best->path.native().size())) best = &cover;
  const int folder = best ? best->below.get() : AT_FDCWD;
  const char* path = best ? below(from, best->path) : from.c_str();
  Fd tree(static_cast<int>(
      ::syscall(SYS_open_tree, folder, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | kRecursive)));
  if (!tree) return refused(fmt::format("binding {}", from.string()));
  return tree;
}

base::Result<void> BoxMounts::bind(const BoxShown& shown) {
  LATHE_TRY(Fd tree, open_tree(shown.from));
  return attach(tree, shown);
}

base::Result<void> BoxMounts::attach(const Fd& tree, const BoxShown& shown) {
  // Before it has a place: nobody sees it writable for a moment.
  if (set_attributes(tree.get(), "", AT_EMPTY_PATH | kRecursive, kPlain | (shown.read_only ? MOUNT_ATTR_RDONLY : 0)))
    return refused(fmt::format("binding {} with its rights", shown.from.string()));
  LATHE_TRY_VOID(make_point(shown.to, is_folder(tree.get())));
  if (::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, shown.to.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return refused(fmt::format("mounting at {}", shown.to.string()));
  return {};
}

bool BoxMounts::is_closed(const fs::path& folder) const {
  const auto& user = view_.confinement.user;
  struct stat status{};
  if (!user || ::stat(folder.c_str(), &status) != 0) return false;
  return (status.st_mode & S_IXOTH) == 0 && (status.st_uid != user->user || (status.st_mode & S_IXUSR) == 0);
}

base::Result<void> BoxMounts::make_point(const fs::path& to, bool is_folder) {
  fs::path at;
  for (auto part = to.begin(); part != to.end(); ++part) {
    const bool is_last = std::next(part) == to.end();
    at /= *part;
    if (!is_last && is_closed(at))
      LATHE_TRY_VOID(cover(at, Fd(::open(at.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))));
    if (is_last && ::access(at.c_str(), F_OK) == 0) continue;
    if (is_last && !is_folder) {
      Fd file(::open(at.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
      if (!file) return refused(fmt::format("making {}", at.string()));
      continue;
    }
    if (at != "/" && ::mkdir(at.c_str(), 0755) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
      return refused(fmt::format("making {}", at.string()));
  }
  return {};
}

// A copy with one line more. It lies in memory of the box's own and has no other name.
base::Result<void> BoxMounts::add_name(const char* file, const std::string& line) {
  auto text = read_small_file(file);
  if (!text) return {};  // a machine that knows no names
  if (!text->empty() && !text->ends_with('\n')) *text += '\n';
  *text += line;
  const char* draft = "/dev/shm/.lathe-names";
  Fd copy(::open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!copy || ::fchmod(copy.get(), 0644) != 0 ||
      ::write(copy.get(), text->data(), text->size()) != static_cast<ssize_t>(text->size()))
    return refused(fmt::format("copying {}", file));
  auto bound = bind({draft, file, true});
  ::unlink(draft);
  return bound;
}

base::Result<Fd> BoxMounts::mount_fuse(const fs::path& to) {
  LATHE_TRY_VOID(make_point(to, true));
  return sys::mount_fuse(to);
}

base::Result<void> BoxMounts::seal() {
  for (const auto& cover : covers_)
    if (cover.above && set_attributes(cover.above.get(), "", AT_EMPTY_PATH, MOUNT_ATTR_RDONLY) != 0)
      return refused(fmt::format("protecting what hides {}", cover.path.string()));
  return {};
}

}  // namespace lathe::sys

#include "runner/bare_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <memory>

#include "sys/fd.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

Folder open_folder(const fs::path& path) {
  sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  Folder folder(fd ? ::fdopendir(fd.get()) : nullptr);
  if (folder) fd.release();
  return folder;
}

// What was given to the run's user, whose processes are gone, is ours again.
bool take_back(DIR* folder, const struct stat& status) {
  return status.st_uid == ::geteuid() || ::fchown(::dirfd(folder), ::geteuid(), ::getegid()) == 0;
}

bool is_as_made(DIR* folder) {
  struct stat status{};
  if (::fstat(::dirfd(folder), &status) != 0 || !take_back(folder, status)) return false;
  const bool plain = (status.st_mode & 07000) == 0 && (status.st_mode & 0700) == 0700;
  return plain && ::flistxattr(::dirfd(folder), nullptr, 0) <= 0;
}

bool remove_tree(const fs::path& path) {
  std::error_code failed;
  fs::remove_all(path, failed);
  return !failed;
}

// `clear` for every name in the folder; true when all were.
template <typename Clear>
bool clear_names(DIR* folder, Clear&& clear) {
  bool all = true;
  while (const dirent* entry = ::readdir(folder)) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") all = clear(name) && all;
  }
  return all;
}

bool clear_or_remove(const fs::path& path) {
  Folder folder = open_folder(path);
  if (!folder || !is_as_made(folder.get())) return remove_tree(path);
  return clear_names(folder.get(), [&](std::string_view name) { return remove_tree(path / name); });
}

}  // namespace

const std::vector<std::string>& box_folders() {
  static const std::vector<std::string> kFolders{"tmp", "var-tmp", "home"};
  return kFolders;
}

const std::vector<std::string>& kept_folders() {
  static const std::vector<std::string> kFolders{"outputs", "logs"};
  return kFolders;
}

bool make_bare(const fs::path& path, std::span<const std::string> kept) {
  Folder folder = open_folder(path);
  if (!folder || !is_as_made(folder.get())) return remove_tree(path);
  return clear_names(folder.get(), [&](std::string_view name) {
    return std::ranges::find(kept, name) != kept.end() ? clear_or_remove(path / name) : remove_tree(path / name);
  });
}

}  // namespace lathe::runner

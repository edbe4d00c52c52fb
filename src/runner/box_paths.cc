#include "runner/box_paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "base/strings.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 16;

bool may_enter(const struct stat& status, const sys::ProgramUser& user, mode_t wanted) {
  if (status.st_uid == user.user) return (status.st_mode >> 6 & wanted) == wanted;
  const bool in_group = status.st_gid == user.group || std::ranges::find(user.groups, status.st_gid) != user.groups.end();
  return (status.st_mode >> (in_group ? 3 : 0) & wanted) == wanted;
}

bool is_mounted(const fs::path& folder) {
  struct statx status{};
  return ::statx(AT_FDCWD, folder.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// `home` of a virtual environment: where its interpreter came from.
fs::path base_of(const fs::path& environment) {
  std::ifstream file(environment / "pyvenv.cfg");
  for (std::string line; std::getline(file, line);) {
    const auto equals = line.find('=');
    if (equals != line.npos && base::trim(std::string_view(line).substr(0, equals)) == "home")
      return std::string(base::trim(std::string_view(line).substr(equals + 1)));
  }
  return {};
}

}  // namespace

bool is_inside(const fs::path& path, const fs::path& folder) {
  const std::string &inner = path.native(), &outer = folder.native();
  return inner.starts_with(outer) && (inner.size() == outer.size() || outer.ends_with('/') || inner[outer.size()] == '/');
}

bool is_open_to(const fs::path& path, const sys::ProgramUser& user) {
  fs::path at;
  for (const auto& part : path) {
    at /= part;
    struct stat status{};
    if (::stat(at.c_str(), &status) != 0) return true;  // nothing is there to be reached
    const bool is_last = at == path;
    if (S_ISDIR(status.st_mode) && !may_enter(status, user, is_last ? 05 : 01)) return false;
  }
  return true;
}

fs::path program_folder(const fs::path& folder) {
  const auto name = folder.filename();
  const bool is_part = name == "bin" || name == "sbin" || name == "shims" || name == "lib" || name == "lib64";
  return is_part && folder.parent_path().has_relative_path() ? folder.parent_path() : folder;
}

std::vector<fs::path> folders_of_program(const fs::path& program) {
  std::vector<fs::path> out;
  auto add = [&](const fs::path& folder) {
    if (folder.empty() || std::ranges::find(out, folder) != out.end()) return;
    out.push_back(folder);
  };
  fs::path at = program.lexically_normal();
  for (int links = 0; links < kMostLinks; ++links) {
    add(at.parent_path());
    add(base_of(program_folder(at.parent_path())));
    std::error_code not_a_link;
    const fs::path target = fs::read_symlink(at, not_a_link);
    if (not_a_link) break;
    at = (at.parent_path() / target).lexically_normal();
  }
  std::error_code failed;
  if (auto real = fs::canonical(program, failed); !failed) add(real.parent_path());
  return out;
}

base::Result<void> give_tree(const fs::path& folder, const sys::ProgramUser& user) {
  auto give = [&](const fs::path& path) { return ::lchown(path.c_str(), user.user, user.group) == 0; };
  std::error_code failed;
  bool all = give(folder);
  for (fs::recursive_directory_iterator entry(folder, failed); !failed && entry != fs::recursive_directory_iterator();
       entry.increment(failed)) {
    if (entry->is_directory(failed) && !entry->is_symlink(failed) && is_mounted(entry->path()))
      entry.disable_recursion_pending();
    else
      all = give(entry->path()) && all;
  }
  if (failed || !all)
    return base::fail(base::errno_error(failed ? failed.value() : errno,
                                        fmt::format("giving {} to the run's user", folder.string())));
  return {};
}

}  // namespace lathe::runner

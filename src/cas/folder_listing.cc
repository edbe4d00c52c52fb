#include "cas/folder_listing.h"

#include <dirent.h>

#include <cerrno>

namespace lathe::cas {

base::Result<std::vector<std::string>> list_folder(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return base::fail(base::errno_error(errno, fmt::format("cannot list {}", path)));
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(folder)) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  int number = errno;
  ::closedir(folder);
  if (number != 0) return base::fail(base::errno_error(number, fmt::format("cannot list {}", path)));
  std::ranges::sort(names);
  return names;
}

}  // namespace lathe::cas

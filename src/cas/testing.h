// Helpers for the tests of this folder: a temporary folder and short ways to make and read files.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/temp_folder.h"

namespace lathe::cas::testing {

// In memory where possible: opening a store syncs its whole file system, which on a busy disk takes long.
class Folder : public support::TempFolder {
 public:
  Folder() : TempFolder(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path()) {}
};

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void set_modified(const std::filesystem::path& path, std::int64_t seconds) {
  timespec times[2] = {{seconds, 0}, {seconds, 0}};
  ::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

inline std::int64_t modified(const std::filesystem::path& path) {
  struct stat st{};
  ::lstat(path.c_str(), &st);
  return st.st_mtim.tv_sec;
}

}  // namespace lathe::cas::testing

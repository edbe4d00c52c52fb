// Helpers for the tests of this folder: a temporary folder and short ways to make and read files.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace lathe::cas::testing {

// In memory where possible: opening a store syncs its whole file system, which on a busy disk takes long.
class Folder {
 public:
  Folder() {
    std::string pattern = "/dev/shm/lathe-cas-XXXXXX";
    if (::access("/dev/shm", W_OK) != 0) pattern = std::filesystem::temp_directory_path() / "lathe-cas-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
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

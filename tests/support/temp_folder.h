// TempFolder: a new folder for one test, removed with everything in it at the test's end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace lathe::support {

class TempFolder {
 public:
  explicit TempFolder(const std::filesystem::path& where = std::filesystem::temp_directory_path()) {
    std::string pattern = (where / "lathe-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::filesystem::filesystem_error("mkdtemp", where, {});
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lathe::support

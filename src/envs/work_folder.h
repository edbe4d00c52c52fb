// WorkFolder: a new folder below the cache's tmp/ for one piece of work, removed at its end. One that a killed process
// left is removed by collect().
#pragma once

#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace lathe::envs {

class WorkFolder {
 public:
  // Under a lock of the caller's own there is one at a time for a purpose: what a killed one left is removed first.
  static base::Result<WorkFolder> make_only(const std::filesystem::path& cache, std::string_view purpose);
  static base::Result<WorkFolder> make(const std::filesystem::path& cache, std::string_view purpose);
  WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit WorkFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Creates or replaces a small file.
base::Result<void> write_text(const std::filesystem::path& path, std::string_view text);
base::Result<void> make_folders(const std::filesystem::path& path);

}  // namespace lathe::envs

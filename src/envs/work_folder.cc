#include "envs/work_folder.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>

namespace lathe::envs {

namespace fs = std::filesystem;

base::Result<void> make_folders(const fs::path& path) {
  std::error_code problem;
  fs::create_directories(path, problem);
  if (problem)
    return base::fail(base::errno_error(problem.value(), fmt::format("making the folder {}", path.string())));
  return {};
}

base::Result<WorkFolder> WorkFolder::make(const fs::path& cache, std::string_view purpose) {
  LATHE_TRY_VOID(make_folders(cache / "tmp"));
  std::string pattern = (cache / "tmp" / fmt::format("{}-XXXXXX", purpose)).string();
  if (!::mkdtemp(pattern.data())) return base::fail(base::errno_error(errno, "making a folder in " + cache.string()));
  return WorkFolder(pattern);
}

base::Result<WorkFolder> WorkFolder::make_only(const fs::path& cache, std::string_view purpose) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(cache / "tmp", ignored))
    if (entry.path().filename().string().starts_with(fmt::format("{}-", purpose)))
      fs::remove_all(entry.path(), ignored);
  return make(cache, purpose);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

base::Result<void> write_text(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) return base::fail(base::errno_error(errno, "writing " + path.string()));
  return {};
}

}  // namespace lathe::envs

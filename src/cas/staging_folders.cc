#include "cas/staging_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <filesystem>

#include "cas/folder_listing.h"
#include "sys/file_system.h"

namespace lathe::cas {
namespace {

constexpr std::time_t kOnTheWaySeconds = 60;

bool is_abandoned(const std::string& path) {
  sys::File folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat st{};
  if (!folder || ::fstat(folder.fd(), &st) != 0) return errno != ENOENT;
  if (std::time(nullptr) - st.st_mtim.tv_sec < kOnTheWaySeconds) return false;
  return ::flock(folder.fd(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

base::Result<void> remove_staging(const StoreLayout& layout, Staging which) {
  LATHE_TRY(auto ids, list_folder(layout.staging()));
  for (const auto& id : ids) {
    auto path = layout.staging(id);
    if (which == Staging::abandoned && !is_abandoned(path)) continue;
    std::error_code problem;
    std::filesystem::remove_all(path, problem);
    if (problem) return base::fail(base::errno_error(problem.value(), fmt::format("cannot remove {}", path)));
  }
  return {};
}

std::uint64_t staged_bytes(const StoreLayout& layout) {
  std::uint64_t sum = 0;
  std::error_code problem;  // a folder that goes meanwhile holds nothing
  for (std::filesystem::recursive_directory_iterator at(layout.staging(), problem), end; !problem && at != end;
       at.increment(problem)) {
    struct stat st{};
    if (::lstat(at->path().c_str(), &st) == 0 && S_ISREG(st.st_mode)) sum += static_cast<std::uint64_t>(st.st_size);
  }
  return sum;
}

}  // namespace lathe::cas

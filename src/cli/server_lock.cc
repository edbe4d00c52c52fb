#include "cli/server_lock.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/strings.h"
#include "cli/files.h"

namespace lathe::cli {
namespace fs = std::filesystem;

std::optional<pid_t> lock_holder(const fs::path& state) {
  struct stat lock{};
  auto text = read_small_file(state / "lock", 256);
  if (!text || ::stat((state / "lock").c_str(), &lock) != 0) return std::nullopt;
  auto pid = base::parse_u64(base::trim(*text));
  if (!pid || *pid == 0 || *pid > 1u << 30 || ::kill(static_cast<pid_t>(*pid), 0) != 0) return std::nullopt;
  std::error_code error;
  for (fs::directory_iterator at(fmt::format("/proc/{}/fd", *pid), error), end; !error && at != end;
       at.increment(error)) {
    struct stat open_file{};
    if (::stat(at->path().c_str(), &open_file) == 0 && open_file.st_ino == lock.st_ino &&
        open_file.st_dev == lock.st_dev)
      return static_cast<pid_t>(*pid);
  }
  return std::nullopt;
}

}  // namespace lathe::cli

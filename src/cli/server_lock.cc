#include "cli/server_lock.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/strings.h"
#include "cli/files.h"
#include "sys/lock_holders.h"

namespace lathe::cli {
namespace fs = std::filesystem;

// The text tells which process it is and the lock that it lives. The process itself is not looked into: it holds
// secrets and lets nobody.
std::optional<pid_t> lock_holder(const fs::path& state) {
  struct stat lock{};
  auto text = read_small_file(state / "lock", 256);
  if (!text || ::stat((state / "lock").c_str(), &lock) != 0) return std::nullopt;
  const auto pid = static_cast<pid_t>(base::parse_u64(base::trim(*text)).value_or(0));
  const auto holders = sys::lock_holders(lock.st_ino);
  if (pid <= 0 || std::ranges::find(holders, pid) == holders.end()) return std::nullopt;
  return pid;
}

}  // namespace lathe::cli

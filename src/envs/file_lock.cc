#include "envs/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "envs/work_folder.h"

namespace lathe::envs {

base::Result<std::optional<sys::Fd>> try_lock(const std::filesystem::path& path, LockKind kind) {
  LATHE_TRY_VOID(make_folders(path.parent_path()));
  sys::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return base::fail(base::errno_error(errno, "opening " + path.string()));
  if (::flock(fd.get(), (kind == LockKind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
    return std::optional(std::move(fd));
  if (errno == EWOULDBLOCK) return std::optional<sys::Fd>();
  return base::fail(base::errno_error(errno, "locking " + path.string()));
}

base::Result<sys::Fd> wait_for_lock(const std::filesystem::path& path, LockKind kind,
                                    const std::function<void()>& on_wait, std::stop_token stop) {
  // A blocking flock cannot be given up, so it is asked for again and again; a build takes seconds at least.
  constexpr std::chrono::milliseconds kPause(50);
  std::mutex mutex;
  std::condition_variable_any wake;
  for (bool told = false; !stop.stop_requested(); told = true) {
    LATHE_TRY(auto held, try_lock(path, kind));
    if (held) return std::move(*held);
    if (!told && on_wait) on_wait();
    std::unique_lock guard(mutex);
    wake.wait_for(guard, stop, kPause, [] { return false; });
  }
  return base::fail(base::Code::cancelled, "stopped");
}

}  // namespace lathe::envs

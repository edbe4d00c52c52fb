#include "envs/cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/strings.h"
#include "envs/engine_arguments.h"
#include "envs/environment_build.h"
#include "envs/file_lock.h"
#include "envs/image.h"
#include "envs/inventory.h"
#include "envs/marker.h"
#include "envs/work_folder.h"
#include "sys/command.h"
#include "sys/file_system.h"
#include "sys/small_file.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Result;

fs::path prefix_of(const fs::path& cache, const base::Digest& lock) { return cache / "realised" / lock.hex(); }
fs::path stamp_of(const fs::path& cache, const base::Digest& lock) { return cache / "used" / lock.hex(); }

// Files of an environment that was made before the machine went down may be empty although they were written.
std::string this_boot() {
  return std::string(base::trim(sys::read_small_file("/proc/sys/kernel/random/boot_id").value_or("")));
}

Realised realised(const fs::path& prefix, const Marker& marker) {
  const auto own = (prefix / "bin" / "python").string();
  return {marker.interpreter.empty() ? own : marker.interpreter, marker.variables, prefix.string(), marker.image,
          marker.arguments};
}

// Where the image brings the packages, our SDK alone is added to them.
void describe_image(Marker& marker, const LockContent& content, const fs::path& prefix) {
  marker.image = content.image.id;
  marker.arguments = content.image.arguments;
  if (!content.python.empty()) return;
  marker.interpreter = content.interpreter.empty() ? "python" : content.interpreter;
  auto& path = marker.variables["PYTHONPATH"];
  path = (prefix / kSdkFolder).string() + (path.empty() ? "" : ":" + path);
}

// "python", as the SDK writes when nothing is said, means the one that a shell would find.
std::string on_path(const std::string& interpreter) {
  if (interpreter.find('/') != std::string::npos) return interpreter;
  const char* path = std::getenv("PATH");
  for (const std::string& name : {interpreter, std::string(interpreter == "python" ? "python3" : "")})
    if (std::string found = name.empty() ? "" : sys::find_program(name, path ? path : "/usr/bin:/bin"); !found.empty())
      return found;
  return interpreter;
}

// Out of the way at once, by its name; then removed. A run that has it mounted keeps what it sees.
Result<void> remove_prefix(const fs::path& cache, const fs::path& prefix) {
  std::error_code problem;
  if (!fs::exists(fs::symlink_status(prefix, problem))) return {};
  LATHE_TRY(auto trash, WorkFolder::make(cache, "removed"));
  fs::rename(prefix, trash.path() / "environment", problem);
  if (problem) return base::fail(base::errno_error(problem.value(), "removing " + prefix.string()));
  return {};
}

}  // namespace

Cache::Cache(Settings settings) : settings_(std::move(settings)) {
  if (settings_.cache.empty()) settings_.cache = default_cache();
}

std::optional<Realised> Cache::find(const base::Digest& lock) const {
  const fs::path prefix = prefix_of(settings_.cache, lock);
  auto marker = read_marker(prefix);
  if (!marker || marker->lock != lock) return std::nullopt;
  // The interpreter behind the link may have been removed from the machine; that of an image is in the image.
  if (marker->image.empty() && ::access((prefix / "bin" / "python").c_str(), X_OK) != 0) return std::nullopt;
  return realised(prefix, *marker);
}

bool Cache::was_checked_since_boot(const base::Digest& lock) const {
  auto stamp = sys::read_small_file(stamp_of(settings_.cache, lock));
  return stamp && base::trim(*stamp) == this_boot();
}

// True when every file is there with its size; else what was damaged is taken out of the package cache, too, with which
// it shares its bytes.
Result<bool> Cache::check(const base::Digest& lock, const LogSink& log, std::stop_token stop) const {
  const fs::path prefix = prefix_of(settings_.cache, lock);
  auto text = sys::read_small_file(prefix / kInventoryName);
  auto wanted = text ? parse_inventory(*text) : Result<Inventory>(std::unexpected(text.error()));
  if (!wanted) return false;
  LATHE_TRY(auto damaged, damaged_files(prefix, *wanted));
  if (damaged.empty()) {
    LATHE_TRY_VOID(make_folders(settings_.cache / "used"));
    LATHE_TRY_VOID(write_text(stamp_of(settings_.cache, lock), this_boot()));
    return true;
  }
  log(fmt::format("the environment is damaged ({} and {} more): building it again", base::printable(damaged.front()),
                  damaged.size() - 1));
  auto owners = owners_of(prefix, *wanted, damaged);
  if (!owners.empty()) LATHE_TRY_VOID(forget_packages(settings_, owners, log, stop));
  return false;
}

Result<Realised> Cache::ensure(const Lock& lock, const LogSink& log, std::stop_token stop, Check wanted) {
  const auto& image = lock.content.image;
  LATHE_TRY_VOID(check_allowed(settings_, image.arguments));
  if (image.wanted()) LATHE_TRY_VOID(ensure_image(image, settings_, log, stop));
  if (!lock.content.interpreter.empty() && lock.content.python.empty() && !image.wanted())
    return UserManaged().realise({on_path(lock.content.interpreter), lock.content.variables});
  const bool thorough = wanted == Check::files;
  if (auto found = find(lock.digest); found && !thorough && was_checked_since_boot(lock.digest)) return *found;
  LATHE_TRY(auto held, wait_for_lock(
                           settings_.cache / "locks" / lock.digest.hex(), LockKind::exclusive,
                           [&] { log("this environment is being built already; waiting for it"); }, stop));
  if (auto found = find(lock.digest)) {
    if (!thorough && was_checked_since_boot(lock.digest)) return *found;
    LATHE_TRY(bool whole, check(lock.digest, log, stop));
    if (whole) return *found;
  }
  return build(lock, log, stop);
}

Result<Realised> Cache::build(const Lock& lock, const LogSink& log, std::stop_token stop) {
  const fs::path prefix = prefix_of(settings_.cache, lock.digest);
  LATHE_TRY_VOID(remove_prefix(settings_.cache, prefix));
  LATHE_TRY(auto work, WorkFolder::make_only(settings_.cache, "realise-" + lock.digest.hex()));
  const fs::path staging = work.path() / "environment";
  LATHE_TRY(auto inventory, build_environment(settings_, lock.content, staging, prefix, log, stop));
  LATHE_TRY_VOID(write_text(staging / kInventoryName, write_inventory(inventory)));
  Marker marker{lock.digest, lock.content.variables, inventory.files.size(), inventory.bytes(), {}, {}};
  if (lock.content.image.wanted()) describe_image(marker, lock.content, prefix);
  LATHE_TRY_VOID(write_marker(staging, marker));
  LATHE_TRY_VOID(make_folders(prefix.parent_path()));
  auto& files = sys::linux_file_system();
  LATHE_TRY_VOID(files.rename(staging.string(), prefix.string()));
  LATHE_TRY_VOID(files.sync_directory(prefix.parent_path().string()));
  LATHE_TRY_VOID(make_folders(settings_.cache / "used"));
  LATHE_TRY_VOID(write_text(stamp_of(settings_.cache, lock.digest), this_boot()));
  log(fmt::format("the environment is ready: {} files, {}", marker.files, base::human_bytes(marker.bytes)));
  return realised(prefix, marker);
}

Result<bool> Cache::remove(const base::Digest& lock) {
  LATHE_TRY(auto building, try_lock(settings_.cache / "locks" / lock.hex(), LockKind::exclusive));
  if (!building) return false;
  LATHE_TRY(auto unused, try_lock(stamp_of(settings_.cache, lock), LockKind::exclusive));
  if (!unused) return false;
  LATHE_TRY_VOID(remove_prefix(settings_.cache, prefix_of(settings_.cache, lock)));
  return true;
}

Result<sys::Fd> Cache::hold(const base::Digest& lock) const {
  LATHE_TRY(auto held, try_lock(stamp_of(settings_.cache, lock), LockKind::shared));
  if (!held || !find(lock))
    return base::fail(Code::unavailable, "the environment {} is being removed", lock.hex().substr(0, 12));
  ::futimens(held->get(), nullptr);  // last used: now
  return std::move(*held);
}

}  // namespace lathe::envs

#include <sys/stat.h>

#include <algorithm>

#include "envs/cache.h"
#include "envs/file_lock.h"
#include "envs/marker.h"
#include "envs/uv.h"
#include "sys/clock.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

base::UtcTime modified(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_mtim.tv_sec * 1'000'000 + status.st_mtim.tv_nsec / 1000};
}

// Work of a process that was killed: nobody comes back to it. A day is longer than any build.
void remove_leftovers(const fs::path& tmp, base::UtcTime now) {
  constexpr std::int64_t kDayMicros = 86'400'000'000;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(tmp, ignored))
    if (now.micros - modified(entry.path()).micros > kDayMicros) fs::remove_all(entry.path(), ignored);
}

struct Links {
  std::uint64_t bytes = 0;
  bool used = false;  // some file has another name, in an environment
};

Links links_below(const fs::path& folder) {
  Links out;
  std::error_code ignored;
  for (auto it = fs::recursive_directory_iterator(folder, ignored); it != fs::recursive_directory_iterator(); ++it) {
    struct stat status{};
    if (::lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    out.bytes += static_cast<std::uint64_t>(status.st_size);
    out.used = out.used || status.st_nlink > 1;
  }
  return out;
}

// uv notices for wheels of an index that an archive is gone, but believes what it remembers of local ones.
void forget_dangling(const fs::path& uv) {
  std::error_code ignored;
  std::vector<fs::path> links;
  for (auto it = fs::recursive_directory_iterator(uv, ignored); it != fs::recursive_directory_iterator(); ++it) {
    if (it->path().filename().string().starts_with("archive-")) it.disable_recursion_pending();
    if (it->is_symlink(ignored) && !fs::exists(it->path(), ignored)) links.push_back(it->path());
  }
  for (const auto& link : links) {
    fs::remove(link, ignored);
    for (const char* memory : {".rev", ".http"}) fs::remove(link.string() + memory, ignored);
  }
}

// Sources of packages that uv has fetched again since: it keeps each, with what was built in it. Where another uv is at
// work it waits a second, and leaves it for another time.
void prune(const Settings& settings, const fs::path& cache) {
  auto uv = Uv::find(settings, [](std::string_view) {}, {});
  if (uv) (void)uv->run({"cache", "prune", "--quiet", "--cache-dir", cache.string()}, {}, {}, {"UV_LOCK_TIMEOUT=1"});
}

}  // namespace

// uv unpacks each wheel into a folder archive-*/ID/ and fetches it again when that is gone.
base::Result<std::uint64_t> Cache::remove_unused_packages() const {
  LATHE_TRY(auto alone, try_lock(settings_.cache / "locks" / kPackagesLock, LockKind::exclusive));
  if (!alone) return 0;  // something is being installed; another time
  std::uint64_t freed = 0;
  std::error_code ignored;
  std::vector<fs::path> candidates;
  std::vector<fs::path> caches;  // the node's own, and one for each image
  for (const auto& folder : fs::directory_iterator(settings_.cache, ignored))
    if (auto name = folder.path().filename().string(); name == "uv" || name.starts_with("uv-"))
      caches.push_back(folder.path());
  for (const auto& cache : caches)
    for (const auto& bucket : fs::directory_iterator(cache, ignored))
      if (bucket.path().filename().string().starts_with("archive-"))
        for (const auto& archive : fs::directory_iterator(bucket.path(), ignored)) candidates.push_back(archive.path());
  for (const auto& version : fs::directory_iterator(settings_.cache / "bytecode", ignored))
    for (const auto& code : fs::recursive_directory_iterator(version.path(), ignored))
      if (code.is_regular_file(ignored) && code.hard_link_count(ignored) == 1) candidates.push_back(code.path());
  for (const auto& path : candidates) {
    Links links = fs::is_directory(path, ignored) ? links_below(path) : Links{fs::file_size(path, ignored), false};
    if (links.used) continue;
    freed += links.bytes;
    fs::remove_all(path, ignored);
  }
  if (freed > 0) std::ranges::for_each(caches, forget_dangling);
  for (const auto& cache : caches) prune(settings_, cache);
  return freed;
}

std::vector<CacheEntry> Cache::list() const {
  std::vector<CacheEntry> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(settings_.cache / "realised", ignored)) {
    auto marker = read_marker(entry.path());
    if (!marker || marker->lock.hex() != entry.path().filename()) continue;
    const fs::path stamp = settings_.cache / "used" / marker->lock.hex();
    auto free = try_lock(stamp, LockKind::exclusive);
    out.push_back({marker->lock, entry.path(), marker->bytes, modified(stamp), free && !*free});
  }
  std::ranges::sort(out, {}, &CacheEntry::last_used);
  return out;
}

base::Result<Collected> Cache::collect(const CollectPolicy& policy, bool dry_run) {
  Collected out;
  const base::UtcTime now = sys::utc_now();
  auto entries = list();
  for (const auto& entry : entries) out.kept_bytes += entry.bytes;
  for (const auto& entry : entries) {
    const bool old = policy.unused_for &&
                     now.micros - entry.last_used.micros >= std::chrono::microseconds(*policy.unused_for).count();
    const bool too_much = policy.max_bytes && out.kept_bytes > *policy.max_bytes;
    if ((!old && !too_much) || entry.in_use) continue;
    if (!dry_run) {
      LATHE_TRY(bool removed, remove(entry.lock));
      if (!removed) continue;
    }
    out.removed.push_back(entry);
    out.bytes += entry.bytes;
    out.kept_bytes -= entry.bytes;
  }
  if (dry_run) return out;
  remove_leftovers(settings_.cache / "tmp", now);
  LATHE_TRY(out.package_bytes, remove_unused_packages());
  return out;
}

}  // namespace lathe::envs

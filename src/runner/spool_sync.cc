#include "runner/spool_sync.h"

#include "base/log.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFewFiles = 32;
// Together with the sync itself well below the second that is promised.
constexpr auto kGather = std::chrono::milliseconds(400);

}  // namespace

bool SpoolSync::is_behind() const {
  std::lock_guard lock(mutex_);
  const LogStand end = log_.end();
  return end.segment != synced_.segment || end.offset != synced_.offset;
}

void SpoolSync::sync_start() {
  if (std::exchange(has_start_, true)) return;
  if (auto synced = spool_.sync_start(); !synced)
    base::log::warn("the spool could not be synced", {{"error", synced.error().text()}});
}

// False: it is being sealed.
bool SpoolSync::sync_segment(std::uint64_t segment) {
  return segments_.run(segment, [&] {
    auto synced = files_.sync_file(log_.segment_path(segment).string());
    if (synced) return true;
    base::log::warn("the log could not be synced", {{"error", synced.error().text()}});
    return false;
  });
}

void SpoolSync::sync() {
  std::lock_guard lock(mutex_);
  sync_start();
  sync_log();
}

void SpoolSync::sync_log() {
  const LogStand end = log_.end();
  if (end.segment == synced_.segment && end.offset == synced_.offset) return;
  const bool has_new_names = end.segment > synced_.segment || synced_.offset == 0;
  LogStand reached = end;
  for (std::uint64_t segment = end.segment + 1; segment-- > synced_.segment;)
    if (!sync_segment(segment)) reached = {segment, 0};
  if (has_new_names) (void)files_.sync_directory(spool_.folder().string());
  synced_ = reached;
}

// Many files cost less together, although others' bytes on this disk are then waited for, too.
base::Result<void> SpoolSync::sync_files(const std::vector<std::string>& files, const std::set<std::string>& folders) {
  if (files.empty()) return {};
  if (files.size() > kFewFiles) return files_.sync_everything(spool_.run_folder().string());
  for (const auto& file : files) LATHE_TRY_VOID(files_.sync_file(file));
  for (const auto& folder : folders) LATHE_TRY_VOID(files_.sync_directory(folder));
  return {};
}

base::Result<void> SpoolSync::sync_results(const std::vector<std::string>& folders) {
  std::lock_guard lock(mutex_);
  sync_log();
  if (segments_.has_failed()) return base::fail(base::Code::io, "the log could not be synced");
  std::vector<std::string> files;
  std::set<std::string> touched;
  auto add = [&](const fs::path& top) {
    std::error_code failed;
    for (fs::recursive_directory_iterator entry(top, failed), end; !failed && entry != end; entry.increment(failed)) {
      if (entry->symlink_status(failed).type() != fs::file_type::regular) continue;
      files.push_back(entry->path().string());
      for (fs::path up = entry->path().parent_path(); touched.insert(up.string()).second && up != top;)
        up = up.parent_path();
    }
  };
  for (const auto& folder : folders) add(spool_.run_folder() / folder);
  add(spool_.metrics_folder());
  return sync_files(files, touched);
}

SyncThread::~SyncThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void SyncThread::nudge() {
  if (!idle_.exchange(false)) return;
  // Empty on purpose: a waiter that has just found nothing holds the lock until it sleeps.
  {
    std::lock_guard lock(mutex_);
  }
  wake_.notify_one();
}

void SyncThread::run() {
  sync_.sync();
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] {
      idle_ = true;  // before the look: bytes that come after it find a thread to wake
      return stopping_ || sync_.is_behind();
    });
    idle_ = false;
    if (stopping_ || wake_.wait_for(lock, kGather, [&] { return stopping_; })) return;
    lock.unlock();
    sync_.sync();
    lock.lock();
  }
}

}  // namespace lathe::runner

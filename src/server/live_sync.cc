#include "server/live_sync.h"

#include "base/log.h"

namespace lathe::server {
namespace {

// Together with the sync itself well below the second that is promised.
constexpr auto kGather = std::chrono::milliseconds(400);

}  // namespace

LiveSync::~LiveSync() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void LiveSync::written(const std::filesystem::path& file) {
  std::lock_guard lock(mutex_);
  const bool is_first = dirty_.empty();
  dirty_.insert(file);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  if (is_first) wake_.notify_one();
}

void LiveSync::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || !dirty_.empty(); });
    // A server that stops has told its runners nothing that they would forget.
    if (stopping_ || wake_.wait_for(lock, kGather, [&] { return stopping_; })) return;
    auto files = std::exchange(dirty_, {});
    lock.unlock();
    sync(files);
    lock.lock();
  }
}

// The names as well: of the files, and of their folders in live/.
void LiveSync::sync(const std::set<std::filesystem::path>& files) {
  std::set<std::filesystem::path> folders;
  auto report = [](const base::Result<void>& synced) {
    // A segment that was sealed meanwhile is in the store.
    if (!synced && synced.error().code() != base::Code::not_found)
      base::log::warn("a live log could not be synced", {{"why", synced.error().text()}});
  };
  for (const auto& file : files) {
    report(files_.sync_file(file.string()));
    folders.insert(file.parent_path());
    folders.insert(file.parent_path().parent_path());
  }
  for (const auto& folder : folders) report(files_.sync_directory(folder.string()));
}

}  // namespace lathe::server

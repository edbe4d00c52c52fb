#include "sys/fail_stop.h"

namespace lathe::sys {

void FailStop::on_failure(Callback callback) {
  std::lock_guard lock(mutex_);
  callback_ = std::move(callback);
}

base::Result<void> FailStop::check() const {
  std::lock_guard lock(mutex_);
  if (!failure_) return {};
  return base::fail(base::Error(base::Code::io, "the disk has failed: " + failure_->message())
                        .hint("check the disk, then start the server again"));
}

base::Result<void> FailStop::note(base::Result<void> synced) {
  if (synced || synced.error().code() != base::Code::io) return synced;
  Callback callback;
  {
    std::lock_guard lock(mutex_);
    if (failure_) return synced;
    failure_ = synced.error();
    callback = callback_;
  }
  if (callback) callback(synced.error());
  return synced;
}

base::Result<void> FailStopFileSystem::sync_file(const std::string& path) {
  LATHE_TRY_VOID(watch_.check());
  return watch_.note(files_.sync_file(path));
}

base::Result<void> FailStopFileSystem::sync_directory(const std::string& path) {
  LATHE_TRY_VOID(watch_.check());
  return watch_.note(files_.sync_directory(path));
}

base::Result<void> FailStopFileSystem::sync_everything(const std::string& path) {
  LATHE_TRY_VOID(watch_.check());
  return watch_.note(files_.sync_everything(path));
}

}  // namespace lathe::sys

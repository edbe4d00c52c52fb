#include "mount/read_ahead.h"

namespace lathe::mount {

void ReadAhead::saw(const Node& file, std::uint64_t chunk) {
  if (file.blob.size <= ChunkCache::kChunkBytes) return saw_small(file);
  const bool in_order = chunk == 0 || cache_.has(file.blob, chunk - 1);
  if (in_order && (chunk + 1) * ChunkCache::kChunkBytes < file.blob.size) wish(file.blob, chunk + 1);
}

// Files near each other in the manifest, read one soon after the other, are a loop over a folder.
void ReadAhead::saw_small(const Node& file) {
  {
    std::lock_guard lock(mutex_);
    const bool in_order = last_file_ != 0 && file.inode > last_file_ && file.inode <= last_file_ + kFilesAhead;
    if (file.inode == last_file_) return;
    last_file_ = file.inode;
    if (!in_order) {
      asked_until_ = 0;
      return;
    }
    if (file.inode + kFilesAhead / 2 < asked_until_) return;
    asked_until_ = file.inode + kFilesAhead;
  }
  std::uint64_t bytes = 0;
  for (const auto& next : tree_.following(file.inode, kFilesAhead)) {
    bytes += next.size;
    if (bytes > kBytesAhead) break;
    if (next.size > 0) wish(next, 0);
  }
}

void ReadAhead::wish(const cas::BlobInfo& blob, std::uint64_t chunk) {
  if (cache_.has(blob, chunk)) return;
  std::lock_guard lock(mutex_);
  if (stopped_ || wishes_.size() >= kMostWishes) return;
  wishes_.push_back({blob, chunk});
  if (threads_.size() < kThreads && threads_.size() < wishes_.size()) threads_.emplace_back([this] { work(); });
  changed_.notify_one();
}

void ReadAhead::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || !wishes_.empty(); });
    if (stopped_) return;
    Wish next = wishes_.front();
    wishes_.pop_front();
    lock.unlock();
    // Its error is told to whoever reads the chunk.
    if (!cache_.has(next.blob, next.chunk)) (void)cache_.get(next.blob, next.chunk);
    lock.lock();
  }
}

void ReadAhead::stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace lathe::mount

#include "mount/chunk_cache.h"

namespace lathe::mount {

base::Result<Chunk> ChunkCache::get(const cas::BlobInfo& blob, std::uint64_t chunk) {
  const Key key{blob.digest, chunk};
  std::unique_lock lock(mutex_);
  for (;;) {
    auto [found, is_new] = entries_.try_emplace(key);
    if (is_new) break;
    if (found->second.bytes) {
      used_.splice(used_.begin(), used_, found->second.used);
      return found->second.bytes;
    }
    fetched_.wait(lock);  // its fetcher either fills the entry or takes it away
  }
  lock.unlock();
  auto fetched = fetch(blob, chunk);
  lock.lock();
  if (fetched) {
    used_.push_front(key);
    entries_[key] = {fetched->bytes, used_.begin()};
    held_ += fetched->bytes->size();
    shrink();
  } else {
    entries_.erase(key);  // the next one tries again
  }
  fetched_.notify_all();
  lock.unlock();
  if (!fetched) return base::fail(std::move(fetched).error());
  // Behind the back of whoever waited: a chunk that was read ahead costs its readers no writing.
  if (fetched->shelve) shelf_->put(*fetched->shelve, *fetched->bytes);
  return std::move(fetched->bytes);
}

bool ChunkCache::has(const cas::BlobInfo& blob, std::uint64_t chunk) {
  std::lock_guard lock(mutex_);
  return entries_.contains({blob.digest, chunk});
}

std::uint64_t ChunkCache::bytes() {
  std::lock_guard lock(mutex_);
  return held_;
}

void ChunkCache::shrink() {
  while (held_ > limit_ && used_.size() > 1) {
    auto oldest = entries_.find(used_.back());
    held_ -= oldest->second.bytes->size();
    entries_.erase(oldest);
    used_.pop_back();
  }
}

base::Result<base::Digest> ChunkCache::digest_of(const cas::BlobInfo& blob, std::uint64_t chunk) {
  if (blob.size <= kChunkBytes) return blob.digest;
  std::shared_ptr<const cas::ChunkIndex> index;
  {
    std::lock_guard lock(mutex_);
    if (auto known = indexes_.find(blob.digest); known != indexes_.end()) index = known->second;
  }
  if (!index) {
    LATHE_TRY(auto told, source_.chunks(blob.digest));
    if (told.blob_size != blob.size || told.chunks.size() != (blob.size + kChunkBytes - 1) / kChunkBytes)
      return base::fail(base::Code::corrupt, "the chunk index of {} is of another blob", blob.digest.hex());
    index = std::make_shared<const cas::ChunkIndex>(std::move(told));
    std::lock_guard lock(mutex_);
    indexes_[blob.digest] = index;
  }
  return index->chunks.at(chunk);
}

base::Result<ChunkCache::Fetched> ChunkCache::fetch_unhashed(const base::Digest& name, std::uint64_t offset,
                                                             std::uint64_t size) {
  LATHE_TRY(std::string bytes, source_.read(name, offset, size));
  if (bytes.size() != size) return base::fail(base::Code::corrupt, "the file has changed since it was listed");
  return Fetched{std::make_shared<const std::string>(std::move(bytes))};
}

base::Result<ChunkCache::Fetched> ChunkCache::fetch(const cas::BlobInfo& blob, std::uint64_t chunk) {
  const std::uint64_t offset = chunk * kChunkBytes, size = std::min(kChunkBytes, blob.size - offset);
  if (!source_.is_hashed(blob.digest)) return fetch_unhashed(blob.digest, offset, size);
  LATHE_TRY(base::Digest expected, digest_of(blob, chunk));
  if (shelf_)
    if (auto shelved = shelf_->find(expected, size))
      return Fetched{std::make_shared<const std::string>(std::move(*shelved))};
  LATHE_TRY(std::string bytes, source_.read(blob.digest, offset, size));
  if (bytes.size() != size || base::sha256(bytes) != expected)
    return base::fail(base::Code::corrupt, "chunk {} of {} is not what its digest says", chunk, blob.digest.hex());
  return Fetched{std::make_shared<const std::string>(std::move(bytes)),
                 shelf_ ? std::optional(expected) : std::nullopt};
}

}  // namespace lathe::mount

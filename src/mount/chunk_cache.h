// ChunkCache: the verified bytes of blobs, by chunk, in memory up to a limit (least recently used out first), and below
// it, where there is one, the shelf on this node's disk. A chunk that several readers want at once is fetched once. A
// small blob is one chunk and must have the blob's digest; a large one's chunks must be those of its chunk index. Bytes
// that do not match are Error(corrupt) and never leave this class. Thread-safe; fetching blocks the thread that asked.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "cas/blob_store.h"
#include "mount/blob_source.h"
#include "mount/chunk_shelf.h"

namespace lathe::mount {

// One chunk; stays valid when the cache has let it go.
using Chunk = std::shared_ptr<const std::string>;

class ChunkCache {
 public:
  static constexpr std::uint64_t kChunkBytes = cas::ChunkIndex::kChunkBytes;

  // `shelf` may be null.
  ChunkCache(BlobSource& source, std::uint64_t limit_bytes, ChunkShelf* shelf = nullptr)
      : source_(source), shelf_(shelf), limit_(limit_bytes) {}

  base::Result<Chunk> get(const cas::BlobInfo& blob, std::uint64_t chunk);
  // Whether get() would not have to fetch.
  bool has(const cas::BlobInfo& blob, std::uint64_t chunk);
  std::uint64_t bytes();

 private:
  struct Key {
    base::Digest digest;
    std::uint64_t chunk = 0;
    bool operator==(const Key&) const = default;
  };
  struct HashKey {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<base::Digest>()(key.digest) + key.chunk * 0x9E37'79B9'7F4A'7C15u;
    }
  };
  struct Entry {
    Chunk bytes;  // null while somebody fetches it
    std::list<Key>::iterator used;
  };

  struct Fetched {
    Chunk bytes;
    std::optional<base::Digest> shelve = {};  // under this name, when somebody has time
  };
  base::Result<Fetched> fetch(const cas::BlobInfo& blob, std::uint64_t chunk);
  base::Result<Fetched> fetch_unhashed(const base::Digest& name, std::uint64_t offset, std::uint64_t size);
  base::Result<base::Digest> digest_of(const cas::BlobInfo& blob, std::uint64_t chunk);
  void shrink();

  BlobSource& source_;
  ChunkShelf* const shelf_;
  const std::uint64_t limit_;
  std::mutex mutex_;
  std::condition_variable fetched_;
  std::unordered_map<Key, Entry, HashKey> entries_;
  std::list<Key> used_;  // most recently used first; only entries with bytes
  std::uint64_t held_ = 0;
  std::unordered_map<base::Digest, std::shared_ptr<const cas::ChunkIndex>> indexes_;  // small: 32 bytes for 8 MiB
};

}  // namespace lathe::mount

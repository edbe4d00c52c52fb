// BlobSource: where a mounted tree gets its bytes from. Nothing it says of what has a digest is believed before it was
// hashed. Thread-safe and blocking; an implementation waits for a server that is away, for as long as it has patience.
#pragma once

#include "cas/chunk_index.h"

namespace lathe::mount {

class BlobSource {
 public:
  virtual ~BlobSource() = default;
  // `size` bytes of the blob from `offset` on.
  virtual base::Result<std::string> read(const base::Digest& digest, std::uint64_t offset, std::uint64_t size) = 0;
  // False for a file that nobody has hashed, whose "digest" is only a name: its bytes are taken as they come.
  virtual bool is_hashed(const base::Digest&) const { return true; }
  // Of a blob of more than one chunk.
  virtual base::Result<cas::ChunkIndex> chunks(const base::Digest& digest) = 0;
  // Every call that waits, and every later one, returns Error(cancelled).
  virtual void interrupt() = 0;
};

}  // namespace lathe::mount

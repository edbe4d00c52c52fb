// ChunkIndex: the digests of a blob's 8 MiB chunks, so that one part of a large blob can be checked without the rest
// and a broken download goes on where its last good chunk ends. A value; kept as the side file <blob>.chunks
// (docs/formats/store.md), from which it can be lost at no harm.
#pragma once

#include <vector>

#include "base/digest.h"

namespace lathe::cas {

struct ChunkIndex {
  static constexpr std::uint64_t kChunkBytes = 8 << 20;
  static constexpr std::uint64_t kLargeBlob = 64 << 20;  // from here on the index is kept on disk

  std::uint64_t blob_size = 0;
  std::vector<base::Digest> chunks;

  bool operator==(const ChunkIndex&) const = default;
  std::string encode() const;
  // Error(corrupt) unless `bytes` is exactly what encode() gave for a blob of this size.
  static base::Result<ChunkIndex> decode(std::string_view bytes, std::uint64_t blob_size);
  // How many bytes at the start of `fd` are right: whole good chunks of what a broken download left.
  base::Result<std::uint64_t> verified_prefix(int fd, std::uint64_t available) const;
};

// Cuts a stream of bytes into chunks and hashes each.
class ChunkHasher {
 public:
  void update(std::string_view bytes);
  ChunkIndex finish();

 private:
  base::Sha256 hash_;
  std::uint64_t in_chunk_ = 0;
  ChunkIndex index_;
};

}  // namespace lathe::cas

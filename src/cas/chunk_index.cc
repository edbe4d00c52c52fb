#include "cas/chunk_index.h"

#include "base/strings.h"
#include "cas/blob_file.h"

namespace lathe::cas {
namespace {

constexpr std::string_view kHeader = "lathe-chunks 1\n";

std::uint64_t chunk_count(std::uint64_t size) { return (size + ChunkIndex::kChunkBytes - 1) / ChunkIndex::kChunkBytes; }

}  // namespace

std::string ChunkIndex::encode() const {
  std::string out(kHeader);
  fmt::format_to(std::back_inserter(out), "{} {}\n", kChunkBytes, blob_size);
  for (const auto& chunk : chunks) out += chunk.hex() + "\n";
  return out + "sha256 " + base::sha256(out).hex() + "\n";
}

base::Result<ChunkIndex> ChunkIndex::decode(std::string_view bytes, std::uint64_t blob_size) {
  ChunkIndex index;
  index.blob_size = blob_size;
  auto bad = [] { return base::fail(base::Code::corrupt, "a chunk index is damaged"); };
  auto head = fmt::format("{}{} {}\n", kHeader, kChunkBytes, blob_size);
  if (!bytes.starts_with(head)) return bad();
  auto count = chunk_count(blob_size);
  auto rest = bytes.substr(head.size());
  constexpr std::size_t kTrailer = 7 + 64 + 1;
  if (rest.size() != count * 65 + kTrailer) return bad();
  for (; count > 0; --count, rest.remove_prefix(65)) {
    auto digest = base::Digest::parse(rest.substr(0, 64));
    if (!digest) return bad();
    index.chunks.push_back(*digest);
  }
  if (index.encode() != bytes) return bad();
  return index;
}

base::Result<std::uint64_t> ChunkIndex::verified_prefix(int fd, std::uint64_t available) const {
  ChunkHasher hasher;
  LATHE_TRY_VOID(
      read_pieces(fd, std::min(available, blob_size), [&](std::string_view bytes) { hasher.update(bytes); }));
  auto found = hasher.finish();
  std::size_t good = 0;
  while (good < found.chunks.size() && found.chunks[good] == chunks[good]) ++good;
  return std::min(good * kChunkBytes, blob_size);
}

void ChunkHasher::update(std::string_view bytes) {
  index_.blob_size += bytes.size();
  while (!bytes.empty()) {
    auto part = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), ChunkIndex::kChunkBytes - in_chunk_));
    hash_.update(bytes.substr(0, part));
    bytes.remove_prefix(part);
    in_chunk_ += part;
    if (in_chunk_ < ChunkIndex::kChunkBytes) continue;
    index_.chunks.push_back(hash_.finish());
    hash_ = {};
    in_chunk_ = 0;
  }
}

ChunkIndex ChunkHasher::finish() {
  if (in_chunk_ > 0) index_.chunks.push_back(hash_.finish());
  return std::move(index_);
}

}  // namespace lathe::cas

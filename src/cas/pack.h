// The pack stream (docs/formats/pack.md): many blobs in one body, each [32-byte digest][u64 LE size][bytes], ended by a
// frame of zeros. PackEncoder makes one by pulling, PackDecoder takes one apart by pushing; both hold one small buffer
// whatever the stream's size. Compression is the transport's matter. Not thread-safe.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cas/blob_store.h"

namespace lathe::cas {

inline constexpr std::size_t kPackHeaderBytes = 40;

struct PackSummary {
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;
};

struct PackLimits {
  std::uint64_t blobs = 20'000'000;
  std::uint64_t blob_bytes = std::uint64_t{1} << 50;
};

// Feeds a sink. Any violation of the format is Error(corrupt), after which the decoder takes no more.
class PackDecoder {
 public:
  explicit PackDecoder(BlobSink& sink, PackLimits limits = {}) : sink_(sink), limits_(limits) {}
  base::Result<void> feed(std::string_view bytes);
  // Call when the body has ended: an unfinished stream is Error(corrupt).
  base::Result<PackSummary> finish() const;

 private:
  base::Result<void> take_header();
  base::Result<void> take_body(std::string_view& bytes);

  BlobSink& sink_;
  const PackLimits limits_;
  std::array<char, kPackHeaderBytes> header_{};
  std::size_t header_filled_ = 0;
  std::uint64_t body_left_ = 0;
  bool in_body_ = false, ended_ = false, failed_ = false;
  PackSummary summary_;
};

// Opens one blob's bytes: from a store, or from the source folder of a snapshot.
using BlobOpener = std::function<base::Result<BlobFile>(const BlobInfo&)>;

class PackEncoder {
 public:
  PackEncoder(std::vector<BlobInfo> blobs, BlobOpener opener)
      : PackEncoder(std::make_shared<const std::vector<BlobInfo>>(std::move(blobs)), std::move(opener)) {}
  // A list that several encoders share: that of a large tree has many megabytes.
  PackEncoder(std::shared_ptr<const std::vector<BlobInfo>> blobs, BlobOpener opener)
      : blobs_(std::move(blobs)), opener_(std::move(opener)) {}
  // Fills `out` as far as it goes; 0 when the stream is complete. A blob whose size is not as announced is
  // Error(corrupt).
  base::Result<std::size_t> read(std::span<char> out);
  // Length of the whole stream, for Content-Length.
  std::uint64_t total_bytes() const;

 private:
  base::Result<void> start_next();

  const std::shared_ptr<const std::vector<BlobInfo>> blobs_;
  const BlobOpener opener_;
  std::size_t next_ = 0;
  std::array<char, kPackHeaderBytes> header_{};
  std::size_t header_sent_ = kPackHeaderBytes;
  std::optional<BlobFile> file_;
  std::uint64_t position_ = 0;
  bool ended_ = false;
};

}  // namespace lathe::cas

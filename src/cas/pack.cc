#include "cas/pack.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lathe::cas {
namespace {

void encode_header(std::array<char, kPackHeaderBytes>& out, const base::Digest& digest, std::uint64_t size) {
  std::memcpy(out.data(), digest.bytes.data(), 32);
  for (int i = 0; i < 8; ++i) out[32 + static_cast<std::size_t>(i)] = static_cast<char>(size >> (8 * i));
}

}  // namespace

base::Result<void> PackDecoder::feed(std::string_view bytes) {
  if (failed_) return base::fail(base::Code::corrupt, "the pack stream has already failed");
  failed_ = true;  // until this call has gone well
  while (!bytes.empty()) {
    if (ended_) return base::fail(base::Code::corrupt, "a pack stream goes on after its end");
    if (in_body_) {
      LATHE_TRY_VOID(take_body(bytes));
      continue;
    }
    auto part = std::min(kPackHeaderBytes - header_filled_, bytes.size());
    std::memcpy(header_.data() + header_filled_, bytes.data(), part);
    header_filled_ += part;
    bytes.remove_prefix(part);
    if (header_filled_ == kPackHeaderBytes) LATHE_TRY_VOID(take_header());
  }
  failed_ = false;
  return {};
}

base::Result<void> PackDecoder::take_header() {
  header_filled_ = 0;
  base::Digest digest;
  std::memcpy(digest.bytes.data(), header_.data(), 32);
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < 8; ++i) size |= std::uint64_t{static_cast<std::uint8_t>(header_[32 + i])} << (8 * i);
  if (digest == base::Digest{}) {
    if (size != 0) return base::fail(base::Code::corrupt, "the end of a pack stream has a size");
    ended_ = true;
    return {};
  }
  if (summary_.blobs == limits_.blobs)
    return base::fail(base::Code::too_large, "a pack stream has more than {} blobs", limits_.blobs);
  if (size > limits_.blob_bytes) return base::fail(base::Code::too_large, "a blob of {} bytes is too large", size);
  LATHE_TRY_VOID(sink_.begin(digest));
  in_body_ = true;
  body_left_ = size;
  std::string_view nothing;
  return size == 0 ? take_body(nothing) : base::Result<void>{};
}

base::Result<void> PackDecoder::take_body(std::string_view& bytes) {
  auto part = static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, bytes.size()));
  if (part > 0) LATHE_TRY_VOID(sink_.write(bytes.substr(0, part)));
  bytes.remove_prefix(part);
  body_left_ -= part;
  if (body_left_ > 0) return {};
  in_body_ = false;
  LATHE_TRY(auto info, sink_.finish());
  ++summary_.blobs;
  summary_.bytes += info.size;
  return {};
}

base::Result<PackSummary> PackDecoder::finish() const {
  if (failed_ || !ended_) return base::fail(base::Code::corrupt, "a pack stream is cut short");
  return summary_;
}

base::Result<void> PackEncoder::start_next() {
  header_sent_ = 0;
  if (next_ == blobs_->size()) {
    encode_header(header_, {}, 0);
    ended_ = true;
    return {};
  }
  const auto& blob = (*blobs_)[next_++];
  LATHE_TRY(auto file, opener_(blob));
  if (file.size() != blob.size)
    return base::fail(base::Code::corrupt, "the blob {} has {} bytes, not {}", blob.digest.hex(), file.size(),
                      blob.size);
  file_.emplace(std::move(file));
  position_ = 0;
  encode_header(header_, blob.digest, blob.size);
  return {};
}

base::Result<std::size_t> PackEncoder::read(std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    auto room = out.subspan(filled);
    if (header_sent_ < kPackHeaderBytes) {
      auto part = std::min(kPackHeaderBytes - header_sent_, room.size());
      std::memcpy(room.data(), header_.data() + header_sent_, part);
      header_sent_ += part;
      filled += part;
    } else if (file_ && position_ < file_->size()) {
      auto want = static_cast<std::size_t>(std::min<std::uint64_t>(file_->size() - position_, room.size()));
      ssize_t n = ::pread(file_->fd(), room.data(), want, static_cast<off_t>(position_));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return base::fail(base::errno_error(errno, "cannot read a blob"));
      if (n == 0) return base::fail(base::Code::corrupt, "a file became shorter while it was sent");
      position_ += static_cast<std::uint64_t>(n);
      filled += static_cast<std::size_t>(n);
    } else if (ended_) {
      break;
    } else {
      file_.reset();
      LATHE_TRY_VOID(start_next());
    }
  }
  return filled;
}

std::uint64_t PackEncoder::total_bytes() const {
  std::uint64_t total = kPackHeaderBytes;
  for (const auto& blob : *blobs_) total += kPackHeaderBytes + blob.size;
  return total;
}

}  // namespace lathe::cas

#include "cli/pack_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lathe::cli {
namespace {

constexpr std::size_t kHeaderBytes = 32 + 8;

std::string frame_header(const base::Digest& digest, std::uint64_t size) {
  std::string out(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(size >> shift & 0xFF);
  return out;
}

base::Error changed(const BlobToSend& blob) {
  return base::Error(base::Code::conflict, fmt::format("{} changed while it was being sent", blob.file.string()))
      .hint("submit again when nothing writes into the folder; what was sent already is not sent twice");
}

}  // namespace

PackSource::~PackSource() {
  if (fd_ >= 0) ::close(fd_);
}

std::uint64_t PackSource::length() const {
  std::uint64_t total = kHeaderBytes;
  for (const auto* blob : blobs_) total += kHeaderBytes + blob->size;
  return total;
}

base::Result<void> PackSource::begin_frame() {
  header_at_ = 0;
  if (next_ == blobs_.size()) {
    header_ = frame_header({}, 0);
    ended_ = true;
    return {};
  }
  current_ = blobs_[next_++];
  left_ = current_->size;
  header_ = frame_header(current_->digest, current_->size);
  if (current_->file.empty()) return {};
  fd_ = ::open(current_->file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) return base::fail(base::errno_error(errno, current_->file.string()));
  return {};
}

base::Result<std::size_t> PackSource::read_body(char* buffer, std::size_t size) {
  auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
  std::size_t got = wanted;
  if (fd_ < 0) {
    std::memcpy(buffer, current_->bytes.data() + (current_->size - left_), wanted);
  } else {
    ssize_t n = ::read(fd_, buffer, wanted);
    if (n < 0) return base::fail(base::errno_error(errno, current_->file.string()));
    if (n == 0) return base::fail(changed(*current_));
    got = static_cast<std::size_t>(n);
  }
  left_ -= got;
  if (left_ == 0 && fd_ >= 0) {
    char extra;
    bool grew = ::read(fd_, &extra, 1) == 1;
    ::close(std::exchange(fd_, -1));
    if (grew) return base::fail(changed(*current_));
  }
  return got;
}

base::Result<std::size_t> PackSource::read(char* buffer, std::size_t size) {
  std::size_t filled = 0;
  while (filled < size) {
    if (header_at_ < header_.size()) {
      auto n = std::min(size - filled, header_.size() - header_at_);
      std::memcpy(buffer + filled, header_.data() + header_at_, n);
      header_at_ += n;
      filled += n;
    } else if (left_ > 0) {
      LATHE_TRY(auto n, read_body(buffer + filled, size - filled));
      filled += n;
    } else if (ended_) {
      return filled;
    } else {
      if (fd_ >= 0) ::close(std::exchange(fd_, -1));  // an empty file
      LATHE_TRY_VOID(begin_frame());
    }
  }
  return filled;
}

}  // namespace lathe::cli

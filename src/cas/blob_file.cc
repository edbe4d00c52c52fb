#include "cas/blob_file.h"

#include <unistd.h>

#include <cerrno>

namespace lathe::cas {

BlobFile::BlobFile(BlobFile&& other) noexcept : fd_(other.release()), size_(other.size_) {}

BlobFile::~BlobFile() {
  if (fd_ >= 0) ::close(fd_);
}

int BlobFile::release() { return std::exchange(fd_, -1); }

base::Result<void> read_pieces(int fd, std::uint64_t size, const std::function<void(std::string_view)>& take,
                               const GoOn& go_on) {
  thread_local std::unique_ptr<char[]> buffer = std::make_unique_for_overwrite<char[]>(kPieceBytes);
  for (std::uint64_t offset = 0; offset < size;) {
    if (go_on && !go_on()) return base::fail(base::Code::cancelled, "reading a file was given up");
    auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, size - offset));
    ssize_t n = ::pread(fd, buffer.get(), want, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail(base::errno_error(errno, "cannot read a file"));
    if (n == 0) return base::fail(base::Code::corrupt, "a file ends after {} of {} bytes", offset, size);
    take({buffer.get(), static_cast<std::size_t>(n)});
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

base::Result<base::Digest> hash_file(int fd, std::uint64_t size, const GoOn& go_on) {
  base::Sha256 hash;
  LATHE_TRY_VOID(read_pieces(fd, size, [&](std::string_view bytes) { hash.update(bytes); }, go_on));
  return hash.finish();
}

}  // namespace lathe::cas

#include "cas/staging_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "cas/blob_file.h"

namespace lathe::cas {
namespace {

constexpr mode_t kBlobMode = 0444;

// A hint: the disk works while we go on hashing; the commit makes sure. Unlike a sync it takes no error away from it.
void begin_writing_out(const sys::File& file) { ::sync_file_range(file.fd(), 0, 0, SYNC_FILE_RANGE_WRITE); }

}  // namespace

base::Result<std::unique_ptr<StagingWriter>> StagingWriter::open(std::string path, sys::FileSystem& files) {
  sys::File folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder || ::flock(folder.fd(), LOCK_SH | LOCK_NB) != 0 || ::access(path.c_str(), W_OK) != 0)
    return base::fail(base::errno_error(errno, fmt::format("cannot use the staging folder {}", path)));
  return std::unique_ptr<StagingWriter>(new StagingWriter(std::move(path), std::move(folder), files));
}

StagingWriter::~StagingWriter() {
  std::error_code ignored;  // the server removes what we could not
  std::filesystem::remove_all(path_, ignored);
}

base::Result<base::Digest> StagingWriter::take(int fd, std::uint64_t size) {
  if (size > kPieceBytes) return take_pieces(fd, size);
  std::optional<base::Result<base::Digest>> taken;
  std::string rest;  // only where the kernel gives less than was asked for
  LATHE_TRY_VOID(read_pieces(fd, size, [&](std::string_view piece) {
    if (rest.empty() && piece.size() == size)
      taken = take_whole(piece);
    else
      rest += piece;
  }));
  return taken ? std::move(*taken) : take_whole(rest);
}

// The digest is known before the file is made, so it gets its name at once.
base::Result<base::Digest> StagingWriter::take_whole(std::string_view bytes) {
  auto digest = base::sha256(bytes);
  if (!add(digest)) return digest;
  LATHE_TRY(auto file, files_.create(fmt::format("{}/{}", path_, digest.hex()), kBlobMode));
  LATHE_TRY_VOID(files_.write(file, bytes, 0));
  begin_writing_out(file);
  return digest;
}

base::Result<base::Digest> StagingWriter::take_pieces(int fd, std::uint64_t size) {
  auto path = fmt::format("{}/{}", path_, next_++);
  LATHE_TRY(auto file, files_.create(path, kBlobMode));
  base::Sha256 hash;
  std::uint64_t offset = 0;
  base::Result<void> written;
  auto read = read_pieces(fd, size, [&](std::string_view piece) {
    if (!written) return;
    hash.update(piece);
    written = files_.write(file, piece, offset);
    offset += piece.size();
  });
  begin_writing_out(file);
  if (!written) return base::fail(std::move(written).error());
  auto digest = hash.finish();
  if (!read || !add(digest)) {
    LATHE_TRY_VOID(files_.remove(path));
    if (!read) return base::fail(std::move(read).error());
    return digest;
  }
  LATHE_TRY_VOID(files_.rename(path, fmt::format("{}/{}", path_, digest.hex())));
  return digest;
}

bool StagingWriter::add(const base::Digest& digest) {
  std::lock_guard lock(mutex_);
  return held_.insert(digest).second;
}

bool StagingWriter::holds(const base::Digest& digest) const {
  std::lock_guard lock(mutex_);
  return held_.contains(digest);
}

}  // namespace lathe::cas

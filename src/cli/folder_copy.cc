#include "cli/folder_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

base::Result<void> write_all(int fd, const char* bytes, std::size_t size, const fs::path& file) {
  while (size > 0) {
    ssize_t n = ::write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail(base::errno_error(errno, file.string()));
    bytes += n, size -= static_cast<std::size_t>(n);
  }
  return {};
}

using Visit = std::function<base::Result<void>(const fs::path& file, const fs::path& target)>;

// Calls `visit` for each file below `from` with its place below `to`, whose folders are made first.
base::Result<void> walk(const fs::path& from, const fs::path& to, const Visit& visit) {
  std::error_code error;
  if (!fs::exists(from, error)) return {};
  fs::create_directories(to, error);
  fs::recursive_directory_iterator at(from, error), end;
  for (; !error && at != end; at.increment(error)) {
    auto target = to / at->path().lexically_relative(from);
    if (at->is_directory(error))
      fs::create_directory(target, error);
    else if (at->is_regular_file(error))
      LATHE_TRY_VOID(visit(at->path(), target));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return base::fail(base::errno_error(error.value(), from.string()));
  return {};
}

bool is_present(const fs::path& file) {
  struct stat info{};
  return ::lstat(file.c_str(), &info) == 0;
}

// A blob's digest is its folder and its name; other files (chunk indexes) have none.
std::optional<base::Digest> named_digest(const fs::path& blob) {
  auto digest = base::Digest::parse(blob.parent_path().filename().string() + blob.filename().string());
  return digest ? std::optional(*digest) : std::nullopt;
}

}  // namespace

base::Result<std::uint64_t> copy_one_file(const fs::path& from, const fs::path& to, base::Digest* digest) {
  Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (source.get() < 0) return base::fail(base::errno_error(errno, from.string()));
  struct stat info{};
  ::fstat(source.get(), &info);
  auto temporary = to;
  temporary += ".new";
  ::unlink(temporary.c_str());
  Descriptor target(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, info.st_mode & 0777));
  if (target.get() < 0) return base::fail(base::errno_error(errno, temporary.string()));
  base::Sha256 hash;
  std::uint64_t total = 0;
  std::vector<char> buffer(1 << 20);
  for (;;) {
    ssize_t n = ::read(source.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail(base::errno_error(errno, from.string()));
    if (n == 0) break;
    if (digest) hash.update(buffer.data(), static_cast<std::size_t>(n));
    LATHE_TRY_VOID(write_all(target.get(), buffer.data(), static_cast<std::size_t>(n), temporary));
    total += static_cast<std::uint64_t>(n);
  }
  if (digest) *digest = hash.finish();
  if (::rename(temporary.c_str(), to.c_str()) != 0) return base::fail(base::errno_error(errno, to.string()));
  return total;
}

base::Result<CopySummary> copy_blobs(const fs::path& from, const fs::path& to) {
  CopySummary summary;
  LATHE_TRY_VOID(
      walk(from / "blobs", to / "blobs", [&](const fs::path& file, const fs::path& target) -> base::Result<void> {
        if (is_present(target)) return ++summary.already, base::Result<void>{};
        std::error_code error;
        if (::link(file.c_str(), target.c_str()) == 0) {
          summary.bytes += fs::file_size(target, error);
        } else {
          LATHE_TRY(auto bytes, copy_one_file(file, target));
          summary.bytes += bytes;
        }
        ++summary.files;
        return {};
      }));
  return summary;
}

base::Result<CopySummary> copy_blobs_verified(const fs::path& from, const fs::path& to) {
  CopySummary summary;
  LATHE_TRY_VOID(
      walk(from / "blobs", to / "blobs", [&](const fs::path& file, const fs::path& target) -> base::Result<void> {
        base::Digest digest;
        LATHE_TRY(auto bytes, copy_one_file(file, target, &digest));
        auto expected = named_digest(file);
        if (expected && *expected != digest)
          return base::fail(base::Error(base::Code::corrupt,
                                        fmt::format("{} is damaged: its bytes do not match its name", file.string()))
                                .hint("use another backup; nothing was restored"));
        ++summary.files;
        summary.bytes += bytes;
        return {};
      }));
  return summary;
}

base::Result<CopySummary> copy_folder(const fs::path& from, const fs::path& to) {
  CopySummary summary;
  LATHE_TRY_VOID(walk(from, to, [&](const fs::path& file, const fs::path& target) -> base::Result<void> {
    auto bytes = copy_one_file(file, target);
    if (!bytes && bytes.error().code() == base::Code::not_found) return {};
    if (!bytes) return base::fail(std::move(bytes).error());
    ++summary.files;
    summary.bytes += *bytes;
    return {};
  }));
  return summary;
}

base::Result<void> sync_folder(const fs::path& folder) {
  Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::syncfs(fd.get()) != 0) return base::fail(base::errno_error(errno, folder.string()));
  return {};
}

}  // namespace lathe::cli

#include "mount/chunk_shelf.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "sys/fd.h"

namespace lathe::mount {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
// A use within this time of the last one is not noted: order matters only by the hour.
constexpr time_t kUseStep = 3600;
// The file system keeps a twentieth of itself for others, of a large one this much.
constexpr std::uint64_t kFreePart = 20, kMostFree = std::uint64_t{4} << 30;

std::uint64_t on_disk(std::uint64_t size) { return (size + 4095) / 4096 * 4096; }

struct Shelved {
  fs::path path;
  time_t used = 0;
  std::uint64_t bytes = 0;
};

std::vector<Shelved> list(const fs::path& folder) {
  std::vector<Shelved> out;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    struct stat status{};
    if (::lstat(entry->path().c_str(), &status) == 0)
      out.push_back({entry->path(), status.st_mtim.tv_sec, on_disk(static_cast<std::uint64_t>(status.st_size))});
  }
  return out;
}

bool read_whole(int file, std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

bool write_whole(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

ChunkShelf::ChunkShelf(fs::path folder, std::uint64_t limit_bytes)
    : folder_(std::move(folder)), row_limit_(limit_bytes / kRows) {}

fs::path ChunkShelf::default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return fs::path(cache) / "lathe" / "chunks";
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return fs::path(home) / ".cache" / "lathe" / "chunks";
  return {};
}

base::Result<std::unique_ptr<ChunkShelf>> ChunkShelf::open(const fs::path& folder, std::uint64_t limit_bytes) {
  std::error_code failed;
  fs::create_directories(folder.parent_path(), failed);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return base::fail(base::errno_error(errno, "making the chunk cache"));
  struct stat status{};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & 077) != 0)
    return base::fail(base::Error(base::Code::io, "the chunk cache is not a private folder of this user")
                          .hint(fmt::format("remove {}", folder.string())));
  for (char digit : kDigits)
    if (::mkdir((folder / std::string(1, digit)).c_str(), 0700) != 0 && errno != EEXIST)
      return base::fail(base::errno_error(errno, "making the chunk cache"));
  if (!sys::Fd(::open((folder / "0").c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)))
    return base::fail(base::Code::unsupported, "the file system of the chunk cache has no nameless files");
  return std::unique_ptr<ChunkShelf>(new ChunkShelf(folder, limit_bytes));
}

fs::path ChunkShelf::path_of(const base::Digest& digest) const {
  const std::string name = digest.hex();
  return folder_ / name.substr(0, 1) / name;
}

std::optional<std::string> ChunkShelf::find(const base::Digest& digest, std::uint64_t size) {
  const fs::path path = path_of(digest);
  sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return std::nullopt;
  std::string bytes;
  if (static_cast<std::uint64_t>(status.st_size) == size) bytes.resize(size);
  if (bytes.size() != size || !read_whole(file.get(), bytes) || base::sha256(bytes) != digest) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  if (::time(nullptr) - status.st_mtim.tv_sec > kUseStep) ::futimens(file.get(), nullptr);
  return bytes;
}

void ChunkShelf::put(const base::Digest& digest, std::string_view bytes) {
  const fs::path path = path_of(digest);
  if (!make_room(digest.bytes[0] >> 4, on_disk(bytes.size()))) return;
  // Named only when it is whole: a kill leaves nothing behind.
  sys::Fd file(::open(path.parent_path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!file || !write_whole(file.get(), bytes)) return;
  // Another process may have been faster; then it is there.
  (void)::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", file.get()).c_str(), AT_FDCWD, path.c_str(),
                 AT_SYMLINK_FOLLOW);
}

// Counts anew after an eighth of the limit, because other processes add as well: together they go over it by no more
// than that for each.
bool ChunkShelf::make_room(std::size_t index, std::uint64_t size) {
  if (size > row_limit_) return false;
  Row& row = rows_[index];
  std::lock_guard lock(row.mutex);
  if (!row.counted || row.bytes + size > row_limit_ || row.added > row_limit_ / 8) {
    if (disk_is_nearly_full()) return false;
    row.bytes = count(index);
    row.added = 0;
    row.counted = true;
    if (row.bytes + size > row_limit_)
      row.bytes = remove_oldest(index, std::min(row_limit_ - size, row_limit_ / 8 * 7));
  }
  row.bytes += size;
  row.added += size;
  return true;
}

std::uint64_t ChunkShelf::count(std::size_t row) const {
  std::uint64_t sum = 0;
  for (const auto& each : list(folder_ / std::string(1, kDigits[row]))) sum += each.bytes;
  return sum;
}

std::uint64_t ChunkShelf::remove_oldest(std::size_t row, std::uint64_t most) const {
  auto all = list(folder_ / std::string(1, kDigits[row]));
  std::ranges::sort(all, {}, &Shelved::used);
  std::uint64_t sum = 0;
  for (const auto& each : all) sum += each.bytes;
  for (const auto& each : all) {
    if (sum <= most) break;
    if (::unlink(each.path.c_str()) == 0 || errno == ENOENT) sum -= each.bytes;
  }
  return sum;
}

bool ChunkShelf::disk_is_nearly_full() const {
  struct statvfs status{};
  if (::statvfs(folder_.c_str(), &status) != 0) return true;
  const std::uint64_t block = status.f_frsize;
  return status.f_bavail * block < std::min(status.f_blocks * block / kFreePart, kMostFree);
}

std::uint64_t ChunkShelf::bytes() const {
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < kRows; ++row) sum += count(row);
  return sum;
}

}  // namespace lathe::mount

#include "cas/stat_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sys/file_system.h"

namespace lathe::cas {
namespace {

constexpr std::string_view kMagic = "lathe-snapshot-cache 2\n";
constexpr std::size_t kDigestBytes = 32;
constexpr std::size_t kTreeBytes = kDigestBytes + 8 + kDigestBytes;
constexpr std::size_t kFixedBytes = 2 + 4 * 8 + kDigestBytes;  // path length, stamp, digest

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// The cache never leaves the machine, so numbers are in its own byte order.
template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T take(std::string_view& in) {
  T value;
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return value;
}

}  // namespace

FileStamp FileStamp::of(const struct stat& st) {
  return {static_cast<std::uint64_t>(st.st_size), st.st_ino, nanoseconds(st.st_mtim), nanoseconds(st.st_ctim)};
}

StatCache StatCache::load(const std::filesystem::path& path) {
  StatCache cache;
  sys::File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st{};
  if (!file || ::fstat(file.fd(), &st) != 0 || !S_ISREG(st.st_mode)) return {};
  // Read, not mapped: a home folder may be on a network, where a file that goes away would end us.
  const auto size = static_cast<std::size_t>(st.st_size);
  cache.bytes_ = std::make_unique_for_overwrite<char[]>(size);
  for (std::size_t got = 0; got < size;) {
    ssize_t n = ::pread(file.fd(), cache.bytes_.get() + got, size - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    got += static_cast<std::size_t>(n);
  }
  if (!cache.parse({cache.bytes_.get(), size})) return {};
  return cache;
}

bool StatCache::parse(std::string_view rest) {
  if (!rest.starts_with(kMagic) || rest.size() < kMagic.size() + kTreeBytes + kDigestBytes) return false;
  auto check = rest.substr(rest.size() - kDigestBytes);
  rest.remove_suffix(kDigestBytes);
  if (std::memcmp(base::sha256(rest).bytes.data(), check.data(), kDigestBytes) != 0) return false;
  rest.remove_prefix(kMagic.size());
  tree_.manifest.bytes = take<decltype(tree_.manifest.bytes)>(rest);
  tree_.manifest_size = take<std::uint64_t>(rest);
  tree_.links.bytes = take<decltype(tree_.links.bytes)>(rest);
  entries_ = rest;
  for (; !rest.empty(); ++count_) {
    if (rest.size() < kFixedBytes) return false;
    auto whole = kFixedBytes + take<std::uint16_t>(rest) - sizeof(std::uint16_t);
    if (rest.size() < whole) return false;
    rest.remove_prefix(whole);
  }
  return true;
}

void StatCache::Cursor::advance() {
  at_end_ = rest_.empty();
  if (at_end_) return;
  auto length = take<std::uint16_t>(rest_);
  file_.stamp.size = take<std::uint64_t>(rest_);
  file_.stamp.inode = take<std::uint64_t>(rest_);
  file_.stamp.modified_ns = take<std::int64_t>(rest_);
  file_.stamp.changed_ns = take<std::int64_t>(rest_);
  file_.digest.bytes = take<decltype(file_.digest.bytes)>(rest_);
  file_.path = rest_.substr(0, length);
  rest_.remove_prefix(length);
}

StatCacheWriter::StatCacheWriter(const CachedTree& tree) : bytes_(kMagic) {
  append(bytes_, tree.manifest.bytes);
  append(bytes_, tree.manifest_size);
  append(bytes_, tree.links.bytes);
}

void StatCacheWriter::add(std::string_view path, const FileStamp& stamp, const base::Digest& digest) {
  append(bytes_, static_cast<std::uint16_t>(path.size()));
  append(bytes_, stamp.size);
  append(bytes_, stamp.inode);
  append(bytes_, stamp.modified_ns);
  append(bytes_, stamp.changed_ns);
  append(bytes_, digest.bytes);
  bytes_ += path;
}

base::Result<void> StatCacheWriter::save(const std::filesystem::path& path) {
  append(bytes_, base::sha256(bytes_).bytes);
  std::error_code problem;
  std::filesystem::create_directories(path.parent_path(), problem);
  auto& files = sys::linux_file_system();
  auto temporary = fmt::format("{}.{}", path.string(), ::getpid());
  {
    LATHE_TRY(auto file, files.open_or_create(temporary, 0600));
    LATHE_TRY_VOID(files.truncate(file, 0));
    LATHE_TRY_VOID(files.write(file, bytes_, 0));
  }
  return files.rename(temporary, path.string());  // not synced: what a power cut tears, its checksum tells
}

std::optional<std::filesystem::path> snapshot_cache_path(const std::filesystem::path& source) {
  std::filesystem::path root;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    root = cache;
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    root = std::filesystem::path(home) / ".cache";
  else
    return std::nullopt;
  std::error_code problem;
  auto absolute = std::filesystem::canonical(source, problem);
  if (problem) return std::nullopt;
  return root / "lathe/snapshots" / base::sha256(absolute.string()).hex();
}

}  // namespace lathe::cas

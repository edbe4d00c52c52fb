#include "server/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstring>

#include "base/digest.h"
#include "base/log.h"
#include "base/strings.h"

namespace lathe::server {
namespace {

using base::Code;
using base::Result;
namespace fs = std::filesystem;

// 64 MiB, but never more than a sixteenth of a small file system.
std::uint64_t reserve_bytes(const struct statvfs& info) {
  return std::min<std::uint64_t>(64u << 20, info.f_blocks * info.f_frsize / 16);
}

std::string read_small(int fd) {
  char buffer[4096];
  ssize_t got = ::pread(fd, buffer, sizeof buffer, 0);
  return std::string(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
}

// Writes a private file so that a crash leaves the old one or the new one, never half.
Result<void> write_private(const fs::path& path, std::string_view text) {
  fs::path temporary = path.string() + ".new";
  int fd = ::open(temporary.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return base::fail(base::errno_error(errno, "create " + temporary.string()));
  bool ok = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  int error = errno;
  ::close(fd);
  if (!ok) return base::fail(base::errno_error(error, "write " + temporary.string()));
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return base::fail(base::errno_error(errno, "rename to " + path.string()));
  int folder = ::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return {};
}

Result<void> make_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return base::fail(base::errno_error(errno, "create folder " + path.string()));
}

// Makes the folder for us alone. One that is there already keeps its mode: it may be /tmp, given by mistake.
Result<void> make_private_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  LATHE_TRY_VOID(make_folder(path));
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return base::fail(base::errno_error(errno, "look at " + path.string()));
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    return base::fail(
        base::Error(Code::invalid, fmt::format("{} is not a folder that only this user can enter", path.string()))
            .field("state")
            .hint(fmt::format("chmod 700 {}, or give a new folder with --state", path.string())));
  return {};
}

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kTokenPrefix = "lathe_";
constexpr std::size_t kRandomBytes = 28, kCheckBytes = 4;
constexpr std::size_t kTokenSize = 49;

// The admin token ends with the first bytes of its own digest, and its file with an empty line, which says so: a
// changed file must not become another token. Files of Lathe 0.1, and of an owner who chose a token, have one line end.
constexpr std::string_view kCheckedEnd = "\n\n";

std::string make_checked_token() {
  std::string bytes = base::random_bytes(kRandomBytes);
  const auto digest = base::sha256(bytes);
  bytes.append(reinterpret_cast<const char*>(digest.bytes.data()), kCheckBytes);
  return format_token(bytes);
}

// Undoes format_token; empty when a character is none of ours.
std::string token_bytes(std::string_view token) {
  std::string out;
  unsigned bits = 0, held = 0;
  for (char c : token.substr(kTokenPrefix.size())) {
    const auto value = kAlphabet.find(c);
    if (value == std::string_view::npos) return {};
    held = (held << 6 | static_cast<unsigned>(value)) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(held >> bits & 0xff);
  }
  return out;
}

bool matches_its_check(std::string_view token) {
  if (token.size() != kTokenSize || !token.starts_with(kTokenPrefix)) return false;
  const std::string bytes = token_bytes(token);
  if (bytes.size() != kRandomBytes + kCheckBytes || format_token(bytes) != token) return false;
  const auto digest = base::sha256(std::string_view(bytes).substr(0, kRandomBytes));
  return std::memcmp(digest.bytes.data(), bytes.data() + kRandomBytes, kCheckBytes) == 0;
}

bool is_damaged_token(std::string_view text, std::string_view token) {
  const auto end = text.find(token) + token.size();
  if (text.size() - end >= kCheckedEnd.size()) return !matches_its_check(token);
  if (token.starts_with(kTokenPrefix) && token.size() != kTokenSize) return true;
  return token.find_first_of(" \t\r\n") != token.npos;
}

}  // namespace

std::string make_token() { return format_token(base::random_bytes(32)); }

std::string format_token(std::string_view bytes) {
  std::string out(kTokenPrefix);
  unsigned bits = 0, held = 0;
  for (unsigned char byte : bytes) {
    held = held << 8 | byte;
    for (bits += 8; bits >= 6; bits -= 6) out += kAlphabet[held >> (bits - 6) & 63];
  }
  return bits == 0 ? out : out + kAlphabet[held << (6 - bits) & 63];
}

Result<StateDir> StateDir::open(const fs::path& root) {
  fs::path absolute = fs::absolute(root).lexically_normal();
  LATHE_TRY_VOID(make_private_folder(absolute));
  for (const char* part : {"run", "live", "work", "store"}) LATHE_TRY_VOID(make_folder(absolute / part));
  // A run's box shows it to a user of the run's own; from outside nobody comes through the folder above.
  ::chmod((absolute / "run").c_str(), 0711);
  fs::path lock_path = absolute / "lock";
  int fd = ::open(lock_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return base::fail(base::errno_error(errno, "open " + lock_path.string()));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    std::string holder(base::trim(read_small(fd)));
    ::close(fd);
    return base::fail(
        base::Error(Code::conflict, fmt::format("the state folder {} is in use by process {}", absolute.string(),
                                                holder.empty() ? "(unknown)" : holder))
            .hint("use that server (lathe status), stop it (lathe down), or give another folder with --state"));
  }
  StateDir state(absolute, fd);
  std::string pid = fmt::format("{}\n", ::getpid());
  auto write_pid = [&] { return ::ftruncate(fd, 0) == 0 && ::pwrite(fd, pid.data(), pid.size(), 0) > 0; };
  bool written = write_pid();
  if (!written && errno == ENOSPC) {
    state.release_reserve();
    written = write_pid();
  }
  if (!written) return base::fail(base::errno_error(errno, "write " + lock_path.string()));
  return state;
}

StateDir::StateDir(StateDir&& other) noexcept : root_(std::move(other.root_)), lock_(std::exchange(other.lock_, -1)) {}
StateDir::~StateDir() {
  if (lock_ >= 0) ::close(lock_);
}

Result<std::string> StateDir::admin_token() const {
  fs::path path = root_ / "token";
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd >= 0) {
    struct stat status{};
    ::fstat(fd, &status);
    const std::string text = read_small(fd);
    const std::string token(base::trim(text));
    ::close(fd);
    if ((status.st_mode & 077) != 0)
      return base::fail(base::Error(Code::invalid, fmt::format("the token file {} can be read by others (mode {:o})",
                                                               path.string(), status.st_mode & 0777))
                            .hint(fmt::format("chmod 600 {}, and consider the token as known", path.string())));
    if (token.size() < 32)
      return base::fail(base::Error(Code::invalid, fmt::format("the token file {} holds no token", path.string()))
                            .hint("remove it; the next start makes a new one"));
    if (is_damaged_token(text, token))
      return base::fail(base::Error(Code::corrupt, fmt::format("the token file {} is damaged", path.string()))
                            .hint("put it back from a backup, or remove it; the next start makes a new one"));
    return token;
  }
  if (errno != ENOENT) return base::fail(base::errno_error(errno, "read " + path.string()));
  std::string token = make_checked_token();
  LATHE_TRY_VOID(write_private(path, token + std::string(kCheckedEnd)));
  return token;
}

Result<void> StateDir::publish_address(const ServerAddress& address) const {
  boost::json::object object{
      {"url", address.url}, {"socket", address.socket.string()}, {"pid", ::getpid()}, {"version", LATHE_VERSION}};
  return write_private(root_ / "server.json", boost::json::serialize(object) + "\n");
}

void StateDir::forget_address() const { ::unlink((root_ / "server.json").c_str()); }

Result<void> StateDir::ensure_reserve() const {
  fs::path path = root_ / "reserve";
  int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return base::fail(base::errno_error(errno, "create " + path.string()));
  struct stat status{};
  ::fstat(fd, &status);
  struct statvfs info{};
  std::uint64_t wanted = ::fstatvfs(fd, &info) == 0 ? reserve_bytes(info) : 0;
  bool there = static_cast<std::uint64_t>(status.st_blocks) * 512 >= wanted;
  int error = there ? 0 : ::posix_fallocate(fd, 0, static_cast<off_t>(wanted));
  if (error != 0) (void)!::ftruncate(fd, 0);  // a part of it would only take the last room from others
  ::close(fd);
  if (error != 0) return base::fail(base::errno_error(error, "set space aside in " + path.string()));
  return {};
}

bool StateDir::has_inodes() const {
  constexpr fsfilcnt_t kSpare = 32;  // for the logs and files of runs that are about to end
  struct statvfs info{};
  // A file system without a fixed number says zero.
  return ::statvfs(root_.c_str(), &info) != 0 || info.f_files == 0 || info.f_favail >= kSpare;
}

bool StateDir::has_room_to_spare() const {
  struct statvfs info{};
  if (::statvfs(root_.c_str(), &info) != 0) return false;
  return info.f_bavail * info.f_frsize >= 2 * reserve_bytes(info);
}

void StateDir::release_reserve() const {
  if (::truncate((root_ / "reserve").c_str(), 0) != 0)
    base::log::warn("the reserve could not be released", {{"error", std::strerror(errno)}});
}

}  // namespace lathe::server

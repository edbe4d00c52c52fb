#include "base/log_sink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace lathe::base::log {
namespace {

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// Room for a line that is written in one piece.
bool takes_a_line(int fd) {
  pollfd waiting{fd, POLLOUT, 0};
  return ::poll(&waiting, 1, 0) == 1 && (waiting.revents & (POLLOUT | POLLERR)) != 0;
}

}  // namespace

void Sink::put(std::string_view lines) {
  struct stat target {};
  if (::fstat(STDERR_FILENO, &target) != 0) return;
  if (!path_.empty() && S_ISREG(target.st_mode) && static_cast<std::uint64_t>(target.st_size) >= most_bytes_) {
    rotate();
    if (::fstat(STDERR_FILENO, &target) != 0) return;
  }
  const std::string whole = torn_ ? "\n" + std::string(lines) : std::string();
  const auto sent = send(target, torn_ ? whole : lines);
  if (sent <= 0) {
    ++dropped_;
    return;
  }
  dropped_ = 0;
  torn_ = static_cast<std::size_t>(sent) < (whole.empty() ? lines.size() : whole.size());
}

long Sink::send(const struct stat& target, std::string_view lines) {
  if (S_ISSOCK(target.st_mode))
    return ::send(STDERR_FILENO, lines.data(), lines.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (!S_ISFIFO(target.st_mode) && !S_ISCHR(target.st_mode))
    return ::write(STDERR_FILENO, lines.data(), lines.size());
  if (const int own = without_waiting(target); own >= 0) return ::write(own, lines.data(), lines.size());
  return takes_a_line(STDERR_FILENO) ? ::write(STDERR_FILENO, lines.data(), lines.size()) : -1;
}

int Sink::without_waiting(const struct stat& target) {
  if (own_ >= 0 && is_same(owned_, target)) return own_;
  if (own_ >= 0) ::close(own_);
  own_ = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  owned_ = target;
  return own_;
}

int Sink::use_file(std::string path, std::uint64_t most_bytes, int kept) {
  path_ = std::move(path);
  most_bytes_ = most_bytes;
  kept_ = kept;
  const int failed = open_file();
  if (failed != 0) path_.clear();
  return failed;
}

void Sink::reopen() {
  if (!path_.empty()) open_file();
}

// Where standard output is the same file, it stays so.
int Sink::open_file() const {
  struct stat out {}, error {};
  const bool both = ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &error) == 0 && is_same(out, error);
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  ::dup2(file, STDERR_FILENO);
  if (both) ::dup2(file, STDOUT_FILENO);
  ::close(file);
  return 0;
}

void Sink::rotate() {
  const auto name = [this](int number) { return number == 0 ? path_ : path_ + "." + std::to_string(number); };
  for (int number = kept_; number > 0; --number) std::rename(name(number - 1).c_str(), name(number).c_str());
  open_file();
}

}  // namespace lathe::base::log

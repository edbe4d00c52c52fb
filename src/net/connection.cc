#include "net/connection.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "rt/clock.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

constexpr std::size_t kFilePiece = 1 << 20;
constexpr std::size_t kTurnBytes = 512 * 1024;  // moved before others get their turn on the home thread
constexpr std::size_t kCallBytes = 16 * 1024;   // what a call costs at least, in bytes
constexpr std::size_t kCopyPiece = 64 * 1024;
constexpr std::size_t kLingerBytes = 16 << 20;  // discarded while the client still sends
constexpr auto kLingerTime = std::chrono::seconds(2);

Io from_errno(Io::Kind wanted) { return {errno == EAGAIN || errno == EINTR ? wanted : Io::Kind::failed}; }

// sendfile(2) knows no MSG_NOSIGNAL: SIGPIPE is held back for the call and taken away if it came.
class HoldPipeSignal {
 public:
  HoldPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~HoldPipeSignal() {
    const int saved = errno;
    if (broken && ::sigismember(&before_, SIGPIPE) == 0) {
      const timespec now{};
      ::sigtimedwait(&pipe_, nullptr, &now);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = saved;
  }
  bool broken = false;

 private:
  sigset_t pipe_, before_;
};

}  // namespace

Connection::Connection(rt::Loop& loop, int fd, ssl_ctx_st* tls, Pace pace)
    : loop_(loop), socket_(loop, fd), ssl_(tls ? make_server_ssl(tls, fd) : nullptr), pace_(pace) {}

void Connection::gone() {
  if (socket_.timed_out()) throw Error(Code::timeout, "the client stood still, or was slow, for too long");
  throw Error(Code::unavailable, "the client went away");
}

rt::Task<void> Connection::wait(Io::Kind wanted) {
  if (wanted == Io::Kind::failed || wanted == Io::Kind::end) gone();
  const bool alive = wanted == Io::Kind::want_read ? co_await socket_.readable() : co_await socket_.writable();
  if (!alive) gone();
  since_turn_ = 0;
}

rt::Task<void> Connection::be_fair(std::size_t bytes) {
  since_turn_ += std::max(bytes, kCallBytes);
  if (since_turn_ < kTurnBytes) co_return;
  since_turn_ = 0;
  co_await loop_.turn();
}

rt::Task<void> Connection::wait_for_client(Io::Kind wanted) {
  const auto& clock = rt::system_clock();
  socket_.set_deadline(pace_.begin_wait(clock.steady(), taken_by_client()), [this, &clock] {
    const bool kept_up = pace_.kept_up(clock.steady(), taken_by_client());
    return kept_up ? std::optional(pace_.window()) : std::nullopt;
  });
  co_await wait(wanted);
  pace_.end_wait(clock.steady());
  socket_.clear_deadline();
}

// The kernel takes megabytes at once and says "writable" long before a slow client has read them: what counts is what
// has left the send queue.
std::uint64_t Connection::taken_by_client() const {
  int queued = 0;
  if (::ioctl(socket_.fd(), SIOCOUTQ, &queued) != 0) return written_;
  return written_ - std::min(written_, static_cast<std::uint64_t>(std::max(queued, 0)));
}

rt::Task<void> Connection::handshake() {
  if (!ssl_) co_return;
  for (;;) {
    const Io io = ssl_handshake(ssl_.get());
    if (io.kind == Io::Kind::done) co_return;
    co_await wait(io.kind);
  }
}

Io Connection::try_read(char* buffer, std::size_t size) {
  if (socket_.is_closed()) return {Io::Kind::failed};
  if (ssl_) return ssl_read(ssl_.get(), buffer, size);
  const auto count = ::recv(socket_.fd(), buffer, size, 0);
  if (count < 0) return from_errno(Io::Kind::want_read);
  return {count == 0 ? Io::Kind::end : Io::Kind::done, static_cast<std::size_t>(count)};
}

Io Connection::try_write(const Pieces& pieces, bool more_follows) {
  if (socket_.is_closed()) return {Io::Kind::failed};
  if (ssl_) {
    const auto first = *std::ranges::find_if(pieces, [](auto piece) { return !piece.empty(); });
    return ssl_write(ssl_.get(), first.data(), first.size());
  }
  iovec vector[std::tuple_size_v<Pieces>];
  std::ranges::transform(pieces, vector,
                         [](auto piece) { return iovec{const_cast<char*>(piece.data()), piece.size()}; });
  msghdr message{};
  message.msg_iov = vector;
  message.msg_iovlen = pieces.size();
  const auto count = ::sendmsg(socket_.fd(), &message, MSG_NOSIGNAL | (more_follows ? MSG_MORE : 0));
  if (count < 0) return from_errno(Io::Kind::want_write);
  return {Io::Kind::done, static_cast<std::size_t>(count)};
}

rt::Task<void> Connection::write(Pieces pieces, bool more_follows) {
  std::size_t left = 0;
  for (const auto piece : pieces) left += piece.size();
  std::string joined;
  if (ssl_ && left <= kCopyPiece) {  // one TLS record instead of three
    for (const auto piece : pieces) joined += piece;
    pieces = {joined};
  }
  while (left > 0) {
    const Io io = try_write(pieces, more_follows);
    if (io.kind != Io::Kind::done) {
      co_await wait_for_client(io.kind);
      continue;
    }
    left -= io.count;
    written_ += io.count;
    std::size_t done = io.count;
    for (auto& piece : pieces) {
      const auto part = std::min(done, piece.size());
      piece.remove_prefix(part);
      done -= part;
    }
    if (left > 0 || io.count >= kCallBytes) co_await be_fair(io.count);
  }
}

Io Connection::try_send_file(int fd, std::uint64_t& offset, std::uint64_t end) {
  if (socket_.is_closed()) return {Io::Kind::failed};
  HoldPipeSignal hold;
  auto position = static_cast<off_t>(offset);
  const auto count = ::sendfile(socket_.fd(), fd, &position, std::min<std::uint64_t>(end - offset, kFilePiece));
  if (count < 0) {
    hold.broken = errno == EPIPE;
    return from_errno(Io::Kind::want_write);
  }
  offset = static_cast<std::uint64_t>(position);
  written_ += static_cast<std::uint64_t>(count);
  return {count == 0 ? Io::Kind::end : Io::Kind::done, static_cast<std::size_t>(count)};
}

rt::Task<void> Connection::send_file(const FileBody& file) {
  // The kernel reads ahead while the socket drains; the home thread should find the pages in memory.
  ::posix_fadvise(file.fd, static_cast<off_t>(file.offset), static_cast<off_t>(file.length), POSIX_FADV_SEQUENTIAL);
  ::posix_fadvise(file.fd, static_cast<off_t>(file.offset),
                  static_cast<off_t>(std::min<std::uint64_t>(file.length, 4 * kFilePiece)), POSIX_FADV_WILLNEED);
  if (ssl_) co_return co_await copy_file(file);
  std::uint64_t offset = file.offset;
  const std::uint64_t end = file.offset + file.length;
  while (offset < end) {
    const Io io = try_send_file(file.fd, offset, end);
    if (io.kind == Io::Kind::end) throw Error(Code::io, "a file became shorter while it was sent");
    if (io.kind != Io::Kind::done)
      co_await wait_for_client(io.kind);
    else
      co_await be_fair(io.count);
  }
}

rt::Task<void> Connection::copy_file(const FileBody& file) {
  std::vector<char> buffer(kCopyPiece);
  for (std::uint64_t sent = 0; sent < file.length;) {
    const auto want = std::min<std::uint64_t>(buffer.size(), file.length - sent);
    const auto count = ::pread(file.fd, buffer.data(), want, static_cast<off_t>(file.offset + sent));
    if (count < 0) throw base::errno_error(errno, "reading a file to send");
    if (count == 0) throw Error(Code::io, "a file became shorter while it was sent");
    co_await write({std::string_view(buffer.data(), static_cast<std::size_t>(count))});
    sent += static_cast<std::size_t>(count);
  }
}

rt::Task<void> Connection::linger() {
  say_goodbye();
  ::shutdown(socket_.fd(), SHUT_WR);
  socket_.set_deadline(kLingerTime);
  std::vector<char> waste(kCopyPiece);
  for (std::size_t total = 0; total < kLingerBytes;) {
    const auto count = ::recv(socket_.fd(), waste.data(), waste.size(), 0);
    if (count > 0)
      total += static_cast<std::size_t>(count);
    else if (count == 0 || errno != EAGAIN)
      co_return;
    else if (!co_await socket_.readable())
      co_return;
  }
}

void Connection::say_goodbye() {
  if (ssl_ && !socket_.is_closed()) ssl_close(ssl_.get());
}

}  // namespace lathe::net

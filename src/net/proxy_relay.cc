#include "net/proxy_relay.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace lathe::net {
namespace {

bool is_for_later(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EINTR); }

// One direction.
class Direction {
 public:
  Direction(int from, int to) : from_(from), to_(to) {}
  bool is_over() const { return ended_ && begin_ == end_; }
  bool wants_to_read() const { return !ended_ && begin_ == end_; }
  bool wants_to_write() const { return begin_ != end_; }
  int from() const { return from_; }
  int to() const { return to_; }

  // False when it is broken.
  bool read(std::atomic<std::uint64_t>& bytes_left) {
    const ssize_t got = ::recv(from_, buffer_.data(), buffer_.size(), 0);
    if (is_for_later(got)) return true;
    if (got < 0) return false;
    begin_ = 0;
    end_ = static_cast<std::size_t>(got);
    if (got == 0) {
      ended_ = true;
      return ::shutdown(to_, SHUT_WR) == 0;
    }
    const auto count = static_cast<std::uint64_t>(got);
    if (bytes_left.load() < count) return false;
    bytes_left -= count;
    return true;
  }
  bool write() {
    const ssize_t sent = ::send(to_, buffer_.data() + begin_, end_ - begin_, MSG_NOSIGNAL);
    if (is_for_later(sent)) return true;
    if (sent < 0) return false;
    begin_ += static_cast<std::size_t>(sent);
    return true;
  }

 private:
  int from_, to_;
  std::array<char, 64 << 10> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool ended_ = false;
};

short events_of(int fd, const Direction& one, const Direction& other) {
  short events = 0;
  for (const Direction* way : {&one, &other}) {
    if (way->from() == fd && way->wants_to_read()) events |= POLLIN;
    if (way->to() == fd && way->wants_to_write()) events |= POLLOUT;
  }
  return events;
}

bool move(Direction& way, const std::array<pollfd, 3>& polled, std::atomic<std::uint64_t>& bytes_left) {
  auto happened = [&](int fd) { return polled[0].fd == fd ? polled[0].revents : polled[1].revents; };
  if (way.wants_to_read() && (happened(way.from()) & (POLLIN | POLLHUP | POLLERR)) != 0 && !way.read(bytes_left))
    return false;
  return !way.wants_to_write() || way.write();
}

}  // namespace

bool wait_for_socket(int fd, short events, int stop, std::chrono::milliseconds patience) {
  std::array<pollfd, 2> polled{pollfd{fd, events, 0}, pollfd{stop, POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(patience.count()));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0 && polled[1].revents == 0;
  }
}

bool send_all(int fd, std::string_view bytes, int stop, std::chrono::milliseconds patience) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && !is_for_later(sent)) return false;
    if (!bytes.empty() && !wait_for_socket(fd, POLLOUT, stop, patience)) return false;
  }
  return true;
}

void relay(int left, int right, int stop, RelayLimits limits) {
  Direction there(left, right), back(right, left);
  while (!there.is_over() || !back.is_over()) {
    std::array<pollfd, 3> polled{pollfd{left, events_of(left, there, back), 0},
                                 pollfd{right, events_of(right, there, back), 0}, pollfd{stop, POLLIN, 0}};
    // A side that hung up and that we want nothing of would wake us for ever.
    for (auto& one : polled)
      if (one.events == 0) one.fd = -1 - one.fd;
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(limits.idle.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || polled[2].revents != 0) return;
    for (auto& one : polled)
      if (one.fd < 0) one.fd = -1 - one.fd;
    if (!move(there, polled, limits.bytes_left) || !move(back, polled, limits.bytes_left)) return;
  }
}

}  // namespace lathe::net

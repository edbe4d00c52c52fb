#include "net/client_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "net/address.h"
#include "net/keep_alive.h"
#include "rt/clock.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

Io from_errno(Io::Kind wanted) { return {errno == EAGAIN || errno == EINTR ? wanted : Io::Kind::failed}; }

short events_for(Io::Kind wanted) { return wanted == Io::Kind::want_read ? POLLIN : POLLOUT; }

Error bad_url(const std::string& text) {
  return Error(Code::invalid, "not an address of a server: " + base::printable(text))
      .hint("use http://host:port, https://host:port or unix:///path/of/socket");
}

}  // namespace

base::Result<Url> Url::parse(const std::string& text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("unix://")) {
    url.socket_path = rest.substr(7);
    if (!url.socket_path.starts_with('/')) return base::fail(bad_url(text));
    return url;
  }
  if (rest.starts_with("https://"))
    url.tls = true;
  else if (!rest.starts_with("http://"))
    return base::fail(bad_url(text));
  rest.remove_prefix(url.tls ? 8 : 7);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest.find_first_of("/?#@ \r\n") != rest.npos) return base::fail(bad_url(text));
  const auto bracket = rest.starts_with('[') ? rest.find(']') : std::string_view::npos;
  const auto colon = rest.find(':', bracket == rest.npos ? 0 : bracket);
  url.host = bracket == rest.npos ? rest.substr(0, colon) : rest.substr(1, bracket - 1);
  url.port = url.tls ? 443 : 80;
  if (colon != rest.npos) {
    const auto port = base::parse_u64(rest.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) return base::fail(bad_url(text));
    url.port = static_cast<std::uint16_t>(*port);
  }
  if (url.host.empty()) return base::fail(bad_url(text));
  return url;
}

std::string Url::host_field() const {
  if (!socket_path.empty()) return "localhost";
  return host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool Url::is_on_this_machine() const {
  return !socket_path.empty() || host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") ||
         host == "::1";
}

ClientStream::~ClientStream() {
  if (fd_ >= 0) ::close(fd_);
}

base::Result<ClientStream> ClientStream::open(const Url& url, ssl_ctx_st* tls, int wake_fd, base::Duration timeout) {
  std::optional<UnixAddress> unix_address;
  std::vector<Address> addresses;
  if (!url.socket_path.empty()) {
    LATHE_TRY(auto made, UnixAddress::make(url.socket_path));
    addresses.push_back(unix_address.emplace(std::move(made)).address());
  } else {
    LATHE_TRY(addresses, resolve(url.host, url.port));
  }
  const std::string name = url.socket_path.empty() ? url.host_field() : url.socket_path;
  int last_errno = 0;
  for (const auto& address : addresses) {
    ClientStream stream(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), wake_fd);
    if (stream.fd_ < 0) return base::fail(base::errno_error(errno, "opening a socket"));
    int status = ::connect(stream.fd_, address.raw(), address.size) == 0 ? 0 : errno;
    if (status == EINPROGRESS) {
      LATHE_TRY_VOID(stream.wait(POLLOUT, timeout));
      socklen_t size = sizeof status;
      ::getsockopt(stream.fd_, SOL_SOCKET, SO_ERROR, &status, &size);
    }
    if ((last_errno = status) != 0) continue;
    const int on = 1;
    if (!unix_address) {
      ::setsockopt(stream.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      notice_dead_peer(stream.fd_);
    }
    if (tls) {
      LATHE_TRY(stream.ssl_, make_client_ssl(tls, stream.fd_, url.host));
      LATHE_TRY_VOID(stream.handshake(timeout));
    }
    return stream;
  }
  return base::fail(Error(Code::unavailable, fmt::format("no server answers at {}: {}", name, ::strerror(last_errno)))
                        .hint("is it running? `lathe up` starts one"));
}

base::Result<void> ClientStream::handshake(base::Duration limit) {
  for (;;) {
    const Io io = ssl_handshake(ssl_.get());
    if (io.kind == Io::Kind::done) return {};
    if (io.kind == Io::Kind::failed || io.kind == Io::Kind::end)
      return base::fail(Error(Code::unavailable, "no secure connection: " + ssl_failure(ssl_.get()))
                            .hint("check the address, and the ca_file that the server's certificate is made with"));
    LATHE_TRY_VOID(wait(events_for(io.kind), limit));
  }
}

base::Result<short> ClientStream::wait(short events, std::optional<base::Duration> limit) {
  const auto& clock = rt::system_clock();
  const auto end = clock.steady() + limit.value_or(base::Duration(0));
  for (;;) {
    int timeout = -1;
    if (limit) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock.steady()).count();
      timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
    }
    pollfd polled[2] = {{fd_, events, 0}, {wake_fd_, POLLIN, 0}};
    const int count = ::poll(polled, 2, timeout);
    if (count < 0 && errno != EINTR) return base::fail(base::errno_error(errno, "waiting for the server"));
    if (count == 0) return base::fail(Code::timeout, "the server did not answer in time");
    if (count > 0 && polled[1].revents != 0) {
      eventfd_t value = 0;
      ::eventfd_read(wake_fd_, &value);
      return base::fail(Code::cancelled, "interrupted");
    }
    if (count > 0) return polled[0].revents;
  }
}

Io ClientStream::try_read(char* buffer, std::size_t size) {
  if (ssl_) return ssl_read(ssl_.get(), buffer, size);
  const auto count = ::recv(fd_, buffer, size, 0);
  if (count < 0) return from_errno(Io::Kind::want_read);
  return {count == 0 ? Io::Kind::end : Io::Kind::done, static_cast<std::size_t>(count)};
}

Io ClientStream::try_write(std::string_view bytes) {
  if (ssl_) return ssl_write(ssl_.get(), bytes.data(), bytes.size());
  const auto count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count < 0) return from_errno(Io::Kind::want_write);
  return {Io::Kind::done, static_cast<std::size_t>(count)};
}

base::Result<std::size_t> ClientStream::read(char* buffer, std::size_t size, std::optional<base::Duration> limit) {
  for (;;) {
    const Io io = try_read(buffer, size);
    if (io.kind == Io::Kind::done) return io.count;
    if (io.kind == Io::Kind::end) return 0;
    if (io.kind == Io::Kind::failed) return base::fail(Code::unavailable, "the connection to the server broke");
    LATHE_TRY_VOID(wait(events_for(io.kind), limit));
  }
}

base::Result<bool> ClientStream::write(std::string_view bytes, base::Duration limit) {
  while (!bytes.empty()) {
    const Io io = try_write(bytes);
    if (io.kind == Io::Kind::done) {
      bytes.remove_prefix(io.count);
      continue;
    }
    // A server that refuses a body answers and closes: its answer is worth more than "broken pipe".
    if (io.kind == Io::Kind::failed || io.kind == Io::Kind::end) return false;
    LATHE_TRY(const short events, wait(static_cast<short>(events_for(io.kind) | (ssl_ ? 0 : POLLIN)), limit));
    if (!ssl_ && (events & POLLIN) != 0) return false;
  }
  return true;
}

bool ClientStream::is_stale() const {
  pollfd polled{fd_, POLLIN, 0};
  return ::poll(&polled, 1, 0) != 0;
}

}  // namespace lathe::net

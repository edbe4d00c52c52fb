// ClientStream: the client's end of a connection: blocking calls made of a non-blocking socket, poll(2) and deadlines.
// Any wait can be broken from another thread through the wake descriptor.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "net/tls.h"

namespace lathe::net {

struct Url {
  bool tls = false;
  std::string host;
  std::uint16_t port = 0;
  std::string socket_path;  // unix://: the rest is empty

  static base::Result<Url> parse(const std::string& text);
  std::string host_field() const;
  // A Unix socket or an address of loopback.
  bool is_on_this_machine() const;
};

class ClientStream {
 public:
  // `wake_fd`: an eventfd of the caller; readable means "give up", and it is then reset.
  static base::Result<ClientStream> open(const Url& url, ssl_ctx_st* tls, int wake_fd, base::Duration timeout);
  ClientStream(ClientStream&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), wake_fd_(other.wake_fd_), ssl_(std::move(other.ssl_)) {}
  ~ClientStream();

  // Without a limit a wait ends only by bytes, the end of the connection, or a wake. 0 bytes: the end.
  base::Result<std::size_t> read(char* buffer, std::size_t size, std::optional<base::Duration> limit);
  // Writes all; false when the other side answers meanwhile (what is left was not sent).
  base::Result<bool> write(std::string_view bytes, base::Duration limit);
  // The other side has closed, or says something nobody asked for: not to be used again.
  bool is_stale() const;

 private:
  ClientStream(int fd, int wake_fd) : fd_(fd), wake_fd_(wake_fd) {}
  base::Result<void> handshake(base::Duration limit);
  // The events that came; fails with timeout or cancelled.
  base::Result<short> wait(short events, std::optional<base::Duration> limit);
  Io try_read(char* buffer, std::size_t size);
  Io try_write(std::string_view bytes);

  int fd_;
  int wake_fd_;
  Ssl ssl_;
};

}  // namespace lathe::net

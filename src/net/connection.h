// Connection: the server's end of one client connection, plain or TLS: read, write and send a file, all with
// back-pressure and a limit on standing still. Home thread only. Throws Error(unavailable) when the client is gone,
// Error(timeout) when it stalls.
#pragma once

#include <array>
#include <string_view>

#include "net/http.h"
#include "net/http_session_socket.h"
#include "net/pace.h"
#include "net/tls.h"

namespace lathe::net {

class Connection {
 public:
  // `tls` is null for a plain connection. `pace`: how fast the client must take what is written.
  Connection(rt::Loop& loop, int fd, ssl_ctx_st* tls, Pace pace);

  rt::Task<void> handshake();
  // One attempt to read, without waiting.
  Io try_read(char* buffer, std::size_t size);
  // Waits for what an attempt wants; the caller minds the deadline.
  rt::Task<void> wait(Io::Kind wanted);
  using Pieces = std::array<std::string_view, 3>;
  rt::Task<void> write(Pieces pieces, bool more_follows = false);
  // Sends with sendfile(2) where the socket is plain.
  rt::Task<void> send_file(const FileBody& file);
  // To be called after each read and each request: a client that is always ready must not keep the home thread to
  // itself.
  rt::Task<void> be_fair(std::size_t bytes);
  // Says "no more" and lets the client finish reading: an unread request body would turn close() into a reset that
  // destroys the answer on its way.
  rt::Task<void> linger();

  // The last word of an orderly end (TLS close_notify); never waits.
  void say_goodbye();

  Socket& socket() { return socket_; }

 private:
  Io try_write(const Pieces& pieces, bool more_follows);
  Io try_send_file(int fd, std::uint64_t& offset, std::uint64_t end);
  rt::Task<void> wait_for_client(Io::Kind wanted);
  std::uint64_t taken_by_client() const;
  rt::Task<void> copy_file(const FileBody& file);
  [[noreturn]] void gone();

  rt::Loop& loop_;
  Socket socket_;
  Ssl ssl_;
  Pace pace_;
  std::uint64_t written_ = 0;   // bytes given to the kernel
  std::size_t since_turn_ = 0;  // bytes moved since others had their turn
};

}  // namespace lathe::net

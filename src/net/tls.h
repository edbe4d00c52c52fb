// TLS for both ends: OpenSSL over a non-blocking socket. OpenSSL is initialised by the first call here, never before:
// a process that speaks only over a Unix socket pays nothing for it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"

struct ssl_st;
struct ssl_ctx_st;

namespace lathe::net {

struct SslDelete {
  void operator()(ssl_st* ssl) const;
  void operator()(ssl_ctx_st* context) const;
};
using SslContext = std::unique_ptr<ssl_ctx_st, SslDelete>;
using Ssl = std::unique_ptr<ssl_st, SslDelete>;

// The outcome of one non-blocking call.
struct Io {
  enum class Kind { done, end, want_read, want_write, failed } kind;
  std::size_t count = 0;
};

// TLS 1.2 and newer.
base::Result<SslContext> make_server_context(const std::filesystem::path& certificate,
                                             const std::filesystem::path& key);
// Verifies the server against `ca_file`, or the system's authorities when empty.
base::Result<SslContext> make_client_context(const std::string& ca_file);

// Speaks over `fd`, which stays the caller's. `server_name` is what the client's check expects in the certificate.
Ssl make_server_ssl(ssl_ctx_st* context, int fd);
base::Result<Ssl> make_client_ssl(ssl_ctx_st* context, int fd, const std::string& server_name);

Io ssl_handshake(ssl_st* ssl);
Io ssl_read(ssl_st* ssl, char* buffer, std::size_t size);
Io ssl_write(ssl_st* ssl, const char* data, std::size_t size);
// Sends close_notify if it can be sent at once.
void ssl_close(ssl_st* ssl);
// Why the last call failed, for people.
std::string ssl_failure(ssl_st* ssl);

}  // namespace lathe::net

#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

std::string openssl_text() {
  const auto number = ERR_get_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(number)) return std::strerror(ERR_GET_REASON(number));
  const char* reason = ERR_reason_error_string(number);
  return reason ? reason : "unknown reason";
}

// OpenSSL's own socket BIO uses write(2), which raises SIGPIPE; this one sends with MSG_NOSIGNAL.
int fd_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int bio_write(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto count = ::send(fd_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

int bio_read(BIO* bio, char* buffer, int size) {
  BIO_clear_retry_flags(bio);
  const auto count = ::recv(fd_of(bio), buffer, static_cast<std::size_t>(size), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (count == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(count);
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "lathe socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

Ssl make_ssl(SSL_CTX* context, int fd) {
  Ssl ssl(SSL_new(context));
  BIO* bio = BIO_new(socket_method());
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl.get(), bio, bio);
  return ssl;
}

SslContext make_context(const SSL_METHOD* method) {
  SslContext context(SSL_CTX_new(method));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  return context;
}

Io outcome(SSL* ssl, int result) {
  if (result > 0) return {Io::Kind::done, static_cast<std::size_t>(result)};
  switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
      return {Io::Kind::want_read};
    case SSL_ERROR_WANT_WRITE:
      return {Io::Kind::want_write};
    case SSL_ERROR_ZERO_RETURN:
      return {Io::Kind::end};
    default:
      return {Io::Kind::failed};
  }
}

int clamp(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, INT_MAX)); }

bool is_address(const std::string& name) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, name.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

}  // namespace

void SslDelete::operator()(ssl_st* ssl) const { SSL_free(ssl); }
void SslDelete::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

base::Result<SslContext> make_server_context(const std::filesystem::path& certificate,
                                             const std::filesystem::path& key) {
  auto context = make_context(TLS_server_method());
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1)
    return base::fail(Error(Code::invalid, fmt::format("the TLS certificate {} cannot be used: {}",
                                                       certificate.string(), openssl_text()))
                          .hint("give a PEM file with the certificate and its chain"));
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1)
    return base::fail(
        Error(Code::invalid, fmt::format("the TLS key {} cannot be used: {}", key.string(), openssl_text()))
            .hint("give the PEM private key that belongs to the certificate"));
  return context;
}

base::Result<SslContext> make_client_context(const std::string& ca_file) {
  auto context = make_context(TLS_client_method());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const bool loaded = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context.get()) == 1
                                      : SSL_CTX_load_verify_file(context.get(), ca_file.c_str()) == 1;
  if (!loaded)
    return base::fail(
        Error(Code::invalid, fmt::format("the authorities in {} cannot be read: {}",
                                         ca_file.empty() ? "the system's store" : ca_file, openssl_text()))
            .hint("give a PEM file of certificates"));
  return context;
}

Ssl make_server_ssl(ssl_ctx_st* context, int fd) {
  Ssl ssl = make_ssl(context, fd);
  SSL_set_accept_state(ssl.get());
  return ssl;
}

base::Result<Ssl> make_client_ssl(ssl_ctx_st* context, int fd, const std::string& server_name) {
  Ssl ssl = make_ssl(context, fd);
  SSL_set_connect_state(ssl.get());
  bool ok = true;
  if (is_address(server_name)) {
    ok = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), server_name.c_str()) == 1;
  } else {
    SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    ok = SSL_set1_host(ssl.get(), server_name.c_str()) == 1 &&
         SSL_set_tlsext_host_name(ssl.get(), server_name.c_str()) == 1;
  }
  if (!ok) return base::fail(Code::invalid, "{} cannot be checked against a certificate", server_name);
  return ssl;
}

Io ssl_handshake(ssl_st* ssl) {
  ERR_clear_error();
  return outcome(ssl, SSL_do_handshake(ssl));
}

Io ssl_read(ssl_st* ssl, char* buffer, std::size_t size) {
  ERR_clear_error();
  return outcome(ssl, SSL_read(ssl, buffer, clamp(size)));
}

Io ssl_write(ssl_st* ssl, const char* data, std::size_t size) {
  ERR_clear_error();
  return outcome(ssl, SSL_write(ssl, data, clamp(size)));
}

void ssl_close(ssl_st* ssl) {
  if (SSL_is_init_finished(ssl)) SSL_shutdown(ssl);
  ERR_clear_error();
}

std::string ssl_failure(ssl_st* ssl) {
  if (const long verdict = SSL_get_verify_result(ssl); verdict != X509_V_OK)
    return fmt::format("the certificate is not trusted: {}", X509_verify_cert_error_string(verdict));
  return openssl_text();
}

}  // namespace lathe::net

#include "net/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "net/client_stream.h"
#include "net/response_parser.h"
#include "net/test_server.h"

namespace lathe::net {
namespace {

using namespace testing;
using base::Code;
using ::testing::HasSubstr;

TEST(Url, ParsesTheThreeFormsAndRefusesOthers) {
  EXPECT_EQ(Url::parse("http://127.0.0.1:4711")->port, 4711);
  EXPECT_EQ(Url::parse("http://h/")->host_field(), "h:80");
  EXPECT_EQ(Url::parse("https://[::1]:8443")->host_field(), "[::1]:8443");
  EXPECT_EQ(Url::parse("unix:///a/b.sock")->socket_path, "/a/b.sock");
  for (const auto* bad : {"", "ftp://x", "http://", "http://a/b", "http://u@h", "http://h:0", "http://h:99999",
                          "unix://rel", "http://h\r\nx: y"})
    EXPECT_FALSE(Url::parse(bad)) << bad;
}

// All of `text` through the parser, `step` bytes at a time; the body, or the error's code in brackets.
std::string parse_response(std::string_view text, std::size_t step, bool to_head = false) {
  ResponseParser parser(to_head);
  std::string body;
  for (std::size_t at = 0; at < text.size() && !parser.is_done();) {
    std::string_view piece;
    const auto used = parser.put(text.substr(at, step), piece);
    if (!used) return "[" + std::string(base::code_name(used.error().code())) + "]";
    body += piece;
    at += *used;
  }
  if (!parser.is_done()) {
    if (auto end = parser.put_end(); !end) return "[" + std::string(base::code_name(end.error().code())) + "]";
  }
  return body;
}

TEST(ResponseParser, GivesTheSameBodyHoweverTheBytesArrive) {
  for (const std::size_t step : {1, 2, 7, 1000}) {
    EXPECT_EQ(parse_response("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc", step), "abc");
    EXPECT_EQ(parse_response("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", step), "x");
    EXPECT_EQ(
        parse_response(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: x\r\n\r\n", step),
        "abcde");
    EXPECT_EQ(parse_response("HTTP/1.0 200 OK\r\n\r\nto the end", step), "to the end");
    EXPECT_EQ(parse_response("HTTP/1.1 204 No Content\r\n\r\n", step), "");
    EXPECT_EQ(parse_response("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n", step, true), "");
  }
}

TEST(ResponseParser, RefusesWhatIsDamagedAndBoundsEverything) {
  for (const std::string& text : {
           std::string("HTTP/2 200 OK\r\n\r\n"),
           std::string("HTTP/1.1 2x0 OK\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\n\n"),
           std::string("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\na b: c\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n"),
           std::string("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n"),
           "HTTP/1.1 200 OK\r\nx: " + std::string(100'000, 'y'),
       })
    EXPECT_EQ(parse_response(text, 4096), "[corrupt]") << text.substr(0, 80);
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 200; ++i) many += "x" + std::to_string(i) + ": y\r\n";
  EXPECT_EQ(parse_response(many + "\r\n", 4096), "[corrupt]");
  EXPECT_EQ(parse_response("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab", 4096), "[unavailable]");
}

TEST(HttpClient, ReopensAConnectionTheServerHasClosed) {
  TestServer server;
  server.get("/ok", say_ok);
  server.limits.keep_alive_timeout = 20ms;
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.unix_url()});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.request("GET", "/ok"));
    // When the server has closed this one, it has closed the client's, too, which was idle before it.
    RawClient later(server.port());
    later.send("GET /ok HTTP/1.1\r\nHost: " + later.host + "\r\n\r\n");
    later.read_to_end();
  }
}

TEST(HttpClient, RetriesOnceOnAKeptConnectionThatBreaksUnderTheRequest) {
  // A server that answers each connection's first request and then drops the connection when the second comes.
  const auto address = resolve("127.0.0.1", 0)->front();
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listening, address.raw(), address.size), 0);
  ASSERT_EQ(::listen(listening, 8), 0);
  const auto url = "http://" + to_text(local_address(listening));
  int connections = 0;
  std::thread server([&] {
    for (; connections < 2; ++connections) {
      const int fd = ::accept(listening, nullptr, nullptr);
      char buffer[4096];
      EXPECT_GT(::recv(fd, buffer, sizeof buffer, 0), 0);
      const std::string_view answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
      EXPECT_EQ(::send(fd, answer.data(), answer.size(), 0), static_cast<ssize_t>(answer.size()));
      if (connections == 0) EXPECT_GT(::recv(fd, buffer, sizeof buffer, 0), 0);
      ::close(fd);
    }
  });
  HttpClient client({.url = url});
  EXPECT_TRUE(client.request("GET", "/one"));
  EXPECT_TRUE(client.request("GET", "/two"));
  server.join();
  EXPECT_EQ(connections, 2);
  ::close(listening);
}

TEST(HttpClient, SaysWhenNobodyAnswers) {
  HttpClient gone({.url = "unix:///nonexistent/api.sock"});
  const auto result = gone.request("GET", "/");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::unavailable);
  EXPECT_THAT(result.error().hint(), HasSubstr("lathe up"));
  HttpClient wrong({.url = "gopher://x"});
  EXPECT_EQ(wrong.request("GET", "/").error().code(), Code::invalid);
}

TEST(HttpClient, GivesUpOnASilentServerAndCanBeInterrupted) {
  TestServer server;
  server.get("/wait", [&](Request& request) -> rt::Task<Response> {
    co_await wait_until_cancelled(server, request.cancel);
    co_return Response::empty();
  });
  ASSERT_TRUE(server.start());
  HttpClient impatient({.url = server.url(), .io_timeout = 30ms});
  EXPECT_EQ(impatient.request("GET", "/wait").error().code(), Code::timeout);

  HttpClient follower({.url = server.url()});
  auto waiting = std::async(std::launch::async, [&] {
    return follower.download("/wait", [](std::string_view) -> base::Result<void> { return {}; }, {}, true);
  });
  follower.interrupt();
  ASSERT_EQ(waiting.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(waiting.get().error().code(), Code::cancelled);
}

TEST(HttpClient, ASinkThatFailsEndsTheDownload) {
  TestServer server;
  server.get("/ok", say_ok);
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.url()});
  const auto result =
      client.download("/ok", [](std::string_view) -> base::Result<void> { return base::fail(Code::no_space, "full"); });
  EXPECT_EQ(result.error().code(), Code::no_space);
  EXPECT_TRUE(client.request("GET", "/ok"));
}

TEST(ClientResponse, TellsTheErrorOfTheShapeOrOfTheStatus) {
  EXPECT_EQ((ClientResponse{409, {}, R"({"code":"attempt-fenced","message":"over"})"}).error().code(), Code::fenced);
  EXPECT_EQ((ClientResponse{404, {}, "<html>"}).error().code(), Code::not_found);
  EXPECT_EQ((ClientResponse{500, {}, R"([1])"}).error().code(), Code::io);
}

// A self-signed certificate for 127.0.0.1 and localhost.
void write_certificate(const std::filesystem::path& certificate, const std::filesystem::path& key) {
  EVP_PKEY* pair = EVP_EC_gen("P-256");
  X509* x509 = X509_new();
  X509_set_version(x509, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
  X509_set_pubkey(x509, pair);
  auto* name = X509_get_subject_name(x509);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("lathe test"), -1, -1, 0);
  X509_set_issuer_name(x509, name);
  X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  X509_add_ext(x509, names, -1);
  X509_sign(x509, pair, EVP_sha256());
  FILE* file = std::fopen(certificate.c_str(), "w");
  PEM_write_X509(file, x509);
  std::fclose(file);
  file = std::fopen(key.c_str(), "w");
  PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_EXTENSION_free(names);
  X509_free(x509);
  EVP_PKEY_free(pair);
}

class Tls : public ::testing::Test {
 protected:
  void SetUp() override {
    write_certificate(certificate, server.folder.path() / "key.pem");
    server.config.tls = TlsFiles{certificate, server.folder.path() / "key.pem"};
    server.config.host = "0.0.0.0";
    server.post("/echo", echo);
    ASSERT_TRUE(server.start());
  }
  std::string url(const std::string& host) { return "https://" + host + ":" + std::to_string(server.port()); }
  TestServer server;
  std::filesystem::path certificate = server.folder.path() / "cert.pem";
};

TEST_F(Tls, ServesTheNetworkWithLargeBodiesOnAKeptConnection) {
  const std::string body(3 << 20, 't');
  for (const auto* host : {"127.0.0.1", "localhost"}) {
    HttpClient client({.url = url(host), .ca_file = certificate});
    for (int i = 0; i < 2; ++i) {
      const auto response = client.request("POST", "/echo", body);
      ASSERT_TRUE(response) << response.error().text();
      EXPECT_EQ(response->body, body);
    }
  }
}

TEST_F(Tls, AnUntrustedOrOtherCertificateIsRefused) {
  HttpClient untrusting({.url = url("127.0.0.1")});
  const auto refused = untrusting.request("GET", "/");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("not trusted"));
  HttpClient elsewhere({.url = url("127.0.0.2"), .ca_file = certificate});
  EXPECT_FALSE(elsewhere.request("GET", "/"));
}

TEST_F(Tls, PlainTextOnTheTlsPortIsClosed) {
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.read_to_end(), ::testing::Not(HasSubstr("HTTP/1.1")));
}

TEST(TlsFiles, ThatCannotBeUsedAreNamed) {
  TestServer server;
  server.config.tls = TlsFiles{"/nonexistent/cert.pem", "/nonexistent/key.pem"};
  const auto listening = server.start();
  ASSERT_FALSE(listening);
  EXPECT_THAT(listening.error().message(), HasSubstr("/nonexistent/cert.pem"));
}

}  // namespace
}  // namespace lathe::net

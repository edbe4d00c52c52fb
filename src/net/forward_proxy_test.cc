#include "net/forward_proxy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "base/base64.h"
#include "net/address.h"
#include "net/proxy_request.h"
#include "sys/fd.h"

namespace lathe::net {
namespace {

using sys::Fd;

std::string read_all(int fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t got; (got = ::recv(fd, buffer, sizeof buffer, 0)) > 0;)
    all.append(buffer, static_cast<std::size_t>(got));
  return all;
}

// Answers every connection with what it was sent up to the empty line, and ends it.
class Echo {
 public:
  Echo() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = base::value_or_throw(resolve("127.0.0.1", 0))[0];
    EXPECT_EQ(::bind(listener_.get(), address.raw(), address.size), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    thread_ = std::thread([this] {
      for (;;) {
        Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client) return;
        std::string got;
        char byte = 0;
        while (!got.ends_with("\r\n\r\n") && ::recv(client.get(), &byte, 1, 0) == 1) got += byte;
        const std::string answer = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + got;
        (void)!::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    });
  }
  ~Echo() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::string authority() const { return to_text(local_address(listener_.get())); }

 private:
  Fd listener_;
  std::thread thread_;
};

struct ProxyTest : ::testing::Test {
  Echo echo;
  std::mutex mutex;
  std::vector<std::string> refused;
  std::unique_ptr<ForwardProxy> proxy;

  void start(ProxyRules rules, ProxyLimits limits = {}) {
    proxy = base::value_or_throw(ForwardProxy::start(
        std::move(rules),
        [this](std::string_view line) {
          const std::lock_guard lock(mutex);
          refused.emplace_back(line);
        },
        limits));
  }
  Fd connect(std::string_view url) {
    const auto at = url.rfind(':');
    const auto port = static_cast<std::uint16_t>(std::stoi(std::string(url.substr(at + 1))));
    const auto address = base::value_or_throw(resolve("127.0.0.1", port));
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), address[0].raw(), address[0].size), 0);
    const timeval patience{30, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return socket;
  }
  std::string login() const {
    const std::string url = proxy->url();
    std::string text = base::to_base64(url.substr(7, url.find('@') - 7), base::Base64::standard);
    while (text.size() % 4 != 0) text += '=';
    return "Proxy-Authorization: Basic " + text + "\r\n";
  }
  std::string ask(const std::string& line, const std::string& headers, const std::string& more = "") {
    const Fd socket = connect(proxy->url());
    const std::string request = line + " HTTP/1.1\r\n" + headers + "\r\n" + more;
    EXPECT_EQ(::send(socket.get(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    return read_all(socket.get());
  }
  ProxyRules with_loopback() {
    ProxyRules rules;
    rules.allowed_private = {base::value_or_throw(AddressRange::parse("127.0.0.1"))};
    return rules;
  }
};

TEST_F(ProxyTest, APrivateAddressIsRefusedAndToldToTheBuild) {
  start({});
  const std::string here = echo.authority();
  const std::vector<std::string> targets{"GET http://" + here + "/a", "CONNECT " + here,
                                         "GET http://localhost:1/", "GET http://127.1:1/",
                                         "GET http://2130706433:1/", "CONNECT [::ffff:127.0.0.1]:1",
                                         "GET http://169.254.169.254/latest/meta-data"};
  for (const auto& target : targets) {
    EXPECT_TRUE(ask(target, login()).starts_with("HTTP/1.1 403 ")) << target;
  }
  proxy.reset();
  ASSERT_EQ(refused.size(), 7u);
  EXPECT_NE(refused[0].find("127.0.0.1 may not be reached"), std::string::npos) << refused[0];
  EXPECT_NE(refused[0].find("hint: "), std::string::npos);
}

TEST_F(ProxyTest, WhatTheSiteAllowsIsReachedInBothWays) {
  start(with_loopback());
  const auto plain =
      ask("GET http://" + echo.authority() + "/a?b=1", login() + "X: y\r\nProxy-Connection: keep-alive\r\n");
  EXPECT_NE(plain.find("GET /a?b=1 HTTP/1.1\r\n"), std::string::npos) << plain;
  EXPECT_NE(plain.find("X: y\r\n"), std::string::npos);
  EXPECT_EQ(plain.find("Proxy-"), std::string::npos) << "what is for the proxy stays there";
  const auto tunnel = ask("CONNECT " + echo.authority(), login(), "hello\r\n\r\n");
  EXPECT_TRUE(tunnel.starts_with("HTTP/1.1 200 ")) << tunnel;
  EXPECT_TRUE(tunnel.ends_with("hello\r\n\r\n")) << tunnel;
}

TEST_F(ProxyTest, WhatTheSiteItselfNamesIsReachedByHostAndPort) {
  ProxyRules rules;
  rules.site_hosts = {echo.authority()};
  start(std::move(rules));
  EXPECT_TRUE(ask("GET http://" + echo.authority() + "/simple/", login()).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask("GET http://127.0.0.1:1/", login()).starts_with("HTTP/1.1 403 ")) << "another service";
}

TEST_F(ProxyTest, WithoutTheSecretNothingIsDone) {
  start(with_loopback());
  EXPECT_TRUE(ask("GET http://" + echo.authority() + "/", "").starts_with("HTTP/1.1 407 "));
  EXPECT_TRUE(ask("GET http://" + echo.authority() + "/", "Proxy-Authorization: Basic bGF0aGU6eA==\r\n")
                  .starts_with("HTTP/1.1 407 "));
}

TEST_F(ProxyTest, AProxyOfTheEnvironmentIsGoneThroughAndAddressesAreStillChecked) {
  ProxyRules rules;
  rules.upstream = {"http://user:pass@" + echo.authority(), "http://" + echo.authority(), ""};
  start(std::move(rules));
  const auto plain = ask("GET http://192.0.0.200.nip.invalid/x", login());
  EXPECT_NE(plain.find("GET http://192.0.0.200.nip.invalid/x HTTP/1.1\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n"),
            std::string::npos)
      << plain;
  const auto tunnel = ask("CONNECT nowhere.invalid:443", login());
  EXPECT_NE(tunnel.find("CONNECT nowhere.invalid:443 HTTP/1.1"), std::string::npos) << tunnel;
  EXPECT_TRUE(ask("GET http://10.0.0.1/", login()).starts_with("HTTP/1.1 403 "));
}

TEST_F(ProxyTest, BadRequestsAndTooManyBytesEnd) {
  ProxyLimits limits;
  limits.bytes = 10;
  start(with_loopback(), limits);
  for (const char* line : {"GET /relative", "GET https://a/", "NONSENSE", "CONNECT a b", "GET ftp://a/"})
    EXPECT_TRUE(ask(line, login()).starts_with("HTTP/1.1 400 ")) << line;
  EXPECT_EQ(ask("GET http://" + echo.authority() + "/", login()).find("GET"), std::string::npos);
}

TEST_F(ProxyTest, ItsEndEndsOpenConnections) {
  start(with_loopback());
  const Fd socket = connect(proxy->url());
  proxy.reset();
  EXPECT_EQ(read_all(socket.get()).find("200"), std::string::npos);
}

}  // namespace
}  // namespace lathe::net

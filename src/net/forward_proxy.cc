#include "net/forward_proxy.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <thread>

#include "base/base64.h"
#include "base/digest.h"
#include "base/strings.h"
#include "net/address.h"
#include "net/proxy_relay.h"
#include "net/proxy_request.h"
#include "sys/fd.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;
using base::Result;
using std::chrono::milliseconds;
using sys::Fd;

std::string status_of(const Error& error) {
  switch (error.code()) {
    case Code::forbidden:
      return "403 Forbidden";
    case Code::unauthorized:
      return "407 Proxy Authentication Required";
    case Code::invalid:
      return "400 Bad Request";
    case Code::unavailable:
      return "503 Service Unavailable";
    default:
      return "502 Bad Gateway";
  }
}

std::string refusal(const Error& error) {
  const std::string text =
      error.message() + (error.hint().empty() ? "" : fmt::format("; hint: {}", error.hint())) + "\n";
  const char* ask = error.code() == Code::unauthorized ? "Proxy-Authenticate: Basic realm=\"lathe\"\r\n" : "";
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n{}",
                     status_of(error), text.size(), ask, text);
}

// As HTTP wants it.
std::string basic(std::string_view user_and_password) {
  std::string out = base::to_base64(user_and_password, base::Base64::standard);
  while (out.size() % 4 != 0) out += '=';
  return "Basic " + out;
}

Result<Fd> connect_to(const Address& address, int stop, milliseconds patience) {
  Fd socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return base::fail(base::errno_error(errno, "make a socket"));
  const int one = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (::connect(socket.get(), address.raw(), address.size) == 0) return socket;
  int problem = errno;
  if (problem == EINPROGRESS) {
    if (!wait_for_socket(socket.get(), POLLOUT, stop, patience))
      return base::fail(Code::upstream, "{} does not answer", to_text(address));
    socklen_t size = sizeof problem;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
  }
  if (problem == 0) return socket;
  return base::fail(Code::upstream, "{} cannot be reached: {}", to_text(address), ::strerror(problem));
}

// A proxy of the environment: "http://user:password@host:port", or less of it.
struct Upstream {
  std::string host, authorization_line;
  std::uint16_t port = 0;
};

Result<Upstream> parse_upstream(std::string_view text) {
  if (!text.contains("://")) return parse_upstream(fmt::format("http://{}", text));
  const auto scheme = text.find("://") + 3;
  const auto at = text.substr(0, text.find('/', scheme)).rfind('@');
  Upstream out;
  if (at != text.npos && at >= scheme)
    out.authorization_line = "Proxy-Authorization: " + basic(text.substr(scheme, at - scheme));
  const std::string plain =
      std::string(text.substr(0, scheme)) + std::string(text.substr(at != text.npos && at >= scheme ? at + 1 : scheme));
  auto url = parse_web_url(plain);
  if (!url || url->scheme != "http")
    return base::fail(Error(Code::upstream, "the proxy that the server's environment names is none of http")
                          .hint("set http_proxy and https_proxy to http://HOST:PORT"));
  out.host = url->host;
  out.port = url->port;
  return out;
}

class Proxy final : public ForwardProxy {
 public:
  Proxy(ProxyRules rules, Refused refused, ProxyLimits limits, Fd listener, Fd stop)
      : rules_(std::move(rules)),
        refused_(std::move(refused)),
        limits_(limits),
        bytes_left_(limits.bytes),
        secret_(base::to_hex(base::random_bytes(16))),
        expected_(basic("lathe:" + secret_)),
        listener_(std::move(listener)),
        stop_(std::move(stop)),
        acceptor_([this] { accept_all(); }) {
    pthread_setname_np(acceptor_.native_handle(), "proxy");
  }
  ~Proxy() override {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    acceptor_.join();
  }
  std::string url() const override {
    return fmt::format("http://lathe:{}@{}", secret_, to_text(local_address(listener_.get())));
  }

 private:
  struct Work {
    std::thread thread;
    std::atomic<bool> over = false;
  };

  void accept_all() {
    std::list<Work> works;
    while (wait_for_socket(listener_.get(), POLLIN, stop_.get(), milliseconds(-1))) {
      Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      std::erase_if(works, [](Work& work) { return work.over && (work.thread.join(), true); });
      if (!client) continue;
      if (static_cast<int>(works.size()) >= limits_.connections) {
        send_all(client.get(), refusal({Code::unavailable, "too many connections of this build"}), stop_.get(),
                 milliseconds(100));
        continue;
      }
      Work& work = works.emplace_back();
      work.thread = std::thread([this, &work, client = std::move(client)] {
        serve(client.get());
        work.over = true;
      });
      pthread_setname_np(work.thread.native_handle(), "proxy-work");
    }
    for (Work& work : works) work.thread.join();
  }

  void serve(int client) {
    auto served = try_serve(client);
    if (served) return;
    const Error& error = served.error();
    if (error.code() == Code::forbidden)
      refused_(fmt::format("{}{}", error.message(), error.hint().empty() ? "" : "; hint: " + error.hint()));
    if (send_all(client, refusal(error), stop_.get(), milliseconds(1000))) linger(client);
  }
  // Closing a socket with unread bytes would take the answer back.
  void linger(int client) {
    ::shutdown(client, SHUT_WR);
    char ignored[4096];
    while (wait_for_socket(client, POLLIN, stop_.get(), milliseconds(200)) &&
           ::recv(client, ignored, sizeof ignored, 0) > 0) {
    }
  }

  Result<void> try_serve(int client) {
    std::string received;
    LATHE_TRY(const std::size_t head, read_head(client, received));
    LATHE_TRY(const auto request, parse_proxy_request(std::string_view(received).substr(0, head)));
    if (request.authorization != expected_) return base::fail(Code::unauthorized, "this proxy is for one build alone");
    bool through_proxy = false;
    LATHE_TRY(Fd target, open_target(request, through_proxy));
    std::string first = request.to_target;
    if (through_proxy) {
      LATHE_TRY(const auto upstream, parse_upstream(proxy_for(rules_.upstream, request.target)));
      first = request.to_proxy(upstream.authorization_line);
    } else if (request.is_tunnel) {
      if (!send_all(client, "HTTP/1.1 200 Connection established\r\n\r\n", stop_.get(), limits_.idle)) return {};
    }
    first += received.substr(head);
    if (!send_all(target.get(), first, stop_.get(), limits_.idle)) return {};
    relay(client, target.get(), stop_.get(), {limits_.idle, bytes_left_});
    return {};
  }

  Result<std::size_t> read_head(int client, std::string& received) {
    const auto deadline = std::chrono::steady_clock::now() + limits_.head;
    char buffer[4096];
    for (;;) {
      if (auto end = received.find("\r\n\r\n"); end != received.npos) return end + 4;
      if (received.size() > kProxyHeadLimit) return base::fail(Code::invalid, "the head of the request is too long");
      const auto left =
          std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0 || !wait_for_socket(client, POLLIN, stop_.get(), left))
        return base::fail(Code::invalid, "no request came");
      const ssize_t got = ::recv(client, buffer, sizeof buffer, 0);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        return base::fail(Code::invalid, "no request came");
      if (got > 0) received.append(buffer, static_cast<std::size_t>(got));
    }
  }

  // Every address that the name has now must be one that may be reached.
  Result<void> check(const WebUrl& target, const std::vector<Address>& addresses) const {
    if (rules_.site_hosts.contains(fmt::format("{}:{}", target.host, target.port))) return {};
    for (const Address& address : addresses)
      LATHE_TRY_VOID(check_address(target.host, *address.raw(), rules_.allowed_private));
    return {};
  }

  Result<Fd> open_target(const ProxyRequest& request, bool& through_proxy) {
    const std::string proxy = proxy_for(rules_.upstream, request.target);
    through_proxy = !proxy.empty();
    auto addresses = resolve(request.target.host, request.target.port);
    if (!addresses && !through_proxy) return base::fail(Code::upstream, "{}", addresses.error().message());
    if (addresses) LATHE_TRY_VOID(check(request.target, *addresses));
    if (through_proxy) {
      LATHE_TRY(const auto upstream, parse_upstream(proxy));
      addresses = resolve(upstream.host, upstream.port);
      if (!addresses) return base::fail(Code::upstream, "{}", addresses.error().message());
    }
    base::Result<Fd> opened = base::fail(Code::upstream, "{} has no address", request.target.host);
    for (const Address& address : *addresses)
      if (opened = connect_to(address, stop_.get(), limits_.connect); opened) return opened;
    return opened;
  }

  const ProxyRules rules_;
  const Refused refused_;
  const ProxyLimits limits_;
  std::atomic<std::uint64_t> bytes_left_;
  const std::string secret_, expected_;
  Fd listener_, stop_;
  std::thread acceptor_;
};

}  // namespace

Result<std::unique_ptr<ForwardProxy>> ForwardProxy::start(ProxyRules rules, Refused refused, ProxyLimits limits) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), stop(::eventfd(0, EFD_CLOEXEC));
  LATHE_TRY(const auto address, resolve("127.0.0.1", 0));
  if (!listener || !stop || ::bind(listener.get(), address[0].raw(), address[0].size) != 0 ||
      ::listen(listener.get(), 128) != 0)
    return base::fail(base::errno_error(errno, "open the way out for a build"));
  return std::make_unique<Proxy>(std::move(rules), std::move(refused), limits, std::move(listener), std::move(stop));
}

}  // namespace lathe::net

#include "net/http_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <list>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "base/strings.h"
#include "net/address.h"
#include "net/http_session.h"
#include "net/keep_alive.h"
#include "rt/clock.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

constexpr int kBacklog = 4096;
constexpr auto kAcceptPause = std::chrono::milliseconds(200);

// Its sessions are counted apart: who floods one door must not close the other, by which the runners come.
struct Listener {
  Listener(rt::Loop& loop, int fd) : socket(loop, fd), left(loop) {}
  Socket socket;
  HostGate gate;
  SslContext tls;
  std::list<HttpSession*> strangers, known;  // oldest first; strangers have shown no credential yet
  rt::Notifier left;                         // a session is over
  std::size_t sessions() const { return strangers.size() + known.size(); }
};

// The caller with the most sessions; nothing to be said about strangers.
std::pair<std::string, std::size_t> find_greediest(const std::list<HttpSession*>& sessions) {
  std::unordered_map<std::string, std::size_t> counts;
  for (const auto* session : sessions) ++counts[session->caller()];
  std::pair<std::string, std::size_t> most;
  for (const auto& [caller, count] : counts)
    if (count > most.second) most = {caller, count};
  return most;
}

// Whose place a newcomer gets in a full house; null when all are at work.
HttpSession* find_dispensable(const Listener& listener) {
  HttpSession* stranger = nullptr;
  for (auto* session : listener.strangers) {
    if (session->is_leaving()) continue;
    if (!session->is_busy()) return session;
    if (!stranger) stranger = session;
  }
  if (stranger) return stranger;
  const auto [caller, count] = find_greediest(listener.known);
  HttpSession* stream = nullptr;
  for (auto* session : listener.known) {
    if (session->is_leaving() || session->caller() != caller) continue;
    if (!session->is_busy()) return session;
    if (!stream && session->is_streaming()) stream = session;
  }
  // A stream can be taken up again by its client, but only greed is a reason to break one.
  return count > listener.sessions() / 2 ? stream : nullptr;
}

base::Result<int> open_listening(const Address& address) {
  const int fd = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return base::fail(base::errno_error(errno, "opening a socket"));
  const int on = 1;
  if (address.storage.ss_family != AF_UNIX) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, address.raw(), address.size) == 0) return fd;
  auto error = base::errno_error(errno, "listening on " + to_text(address));
  ::close(fd);
  return base::fail(std::move(error).hint("is another server running there? choose another address or port"));
}

base::Result<void> start_listening(int fd) {
  if (::listen(fd, kBacklog) == 0) return {};
  auto error = base::errno_error(errno, "listening");
  ::close(fd);
  return base::fail(std::move(error));
}

// One try without waiting: a server that is full spends nothing on those it sends away.
void refuse_full(int fd) {
  const auto response = Response::error(Error(Code::unavailable, "too many connections").hint("try again in a moment"));
  const auto& body = std::get<std::string>(response.body);
  Framing framing;
  framing.length = body.size();
  framing.keep_alive = false;
  const auto text = make_response_head(response, framing, rt::system_clock().utc()) + body;
  (void)!::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Peer unix_peer(int fd) {
  ucred who{};
  socklen_t size = sizeof who;
  const bool known = ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
  return {fmt::format("unix uid={} pid={}", who.uid, who.pid), "", true, known ? std::optional(who.uid) : std::nullopt};
}

Peer tcp_peer(int fd, const Address& remote) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  notice_dead_peer(fd);
  return {to_text(remote), to_text(local_address(fd), true), false, std::nullopt};
}

}  // namespace

int connection_limit() {
  // Of all descriptors half for each listener, less some for files, the database and runners that are being started.
  constexpr std::int64_t kMost = 4096, kLeast = 16, kReserved = 512;
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0 || descriptors.rlim_cur > 2 * kMost + kReserved) return kMost;
  return static_cast<int>(std::max(kLeast, (static_cast<std::int64_t>(descriptors.rlim_cur) - kReserved) / 2));
}

struct HttpServer::Impl {
  ServerContext context;
  std::list<Listener> listeners;
  std::unordered_set<HttpSession*> sessions;
  rt::Scope scope;
  std::uint16_t port = 0;
  std::filesystem::path socket_path;

  base::Result<void> listen_tcp(const ListenConfig& config);
  base::Result<void> listen_unix(const std::filesystem::path& path, mode_t mode);
  bool is_full(const Listener& listener) const {
    return listener.sessions() >= static_cast<std::size_t>(context.limits.connections);
  }
  rt::Task<void> accept_from(Listener& listener);
  rt::Task<void> make_room(Listener& listener);
  bool accept_one(Listener& listener);
  rt::Task<void> serve(Listener& listener, Peer peer, int fd);
  rt::Task<void> cut_off_after(base::Duration drain, rt::CancelToken all_done);
  void for_each_session(const std::function<void(HttpSession&)>& visit);
};

HttpServer::HttpServer(rt::Loop& loop, const Router& router, Authenticator authenticate,
                       std::function<void(const RequestOutcome&)> on_finished, HttpLimits limits)
    : impl_(new Impl{{loop, router, std::move(authenticate), std::move(on_finished), limits,
                      MemoryBudget(loop, limits.memory), RateLimiter(limits.requests_per_second, limits.burst)},
                     {}, {}, {}, 0, {}}) {}
HttpServer::~HttpServer() = default;
void HttpServer::on_refused(std::function<void(const Refusal&)> listener) {
  impl_->context.on_refused = std::move(listener);
}
std::uint16_t HttpServer::port() const { return impl_->port; }

base::Result<void> HttpServer::listen(const ListenConfig& config) {
  LATHE_TRY_VOID(impl_->listen_tcp(config));
  if (!config.unix_socket.empty()) LATHE_TRY_VOID(impl_->listen_unix(config.unix_socket, config.unix_socket_mode));
  for (auto& listener : impl_->listeners) impl_->scope.spawn("http-accept", impl_->accept_from(listener));
  return {};
}

base::Result<void> HttpServer::Impl::listen_tcp(const ListenConfig& config) {
  LATHE_TRY(const auto addresses, resolve(config.host, config.port));
  if (!config.tls && !is_loopback(addresses.front()))
    return base::fail(
        Error(Code::invalid,
              fmt::format("{} is not a loopback address, and without TLS tokens would be readable on the network",
                          config.host))
            .hint("give a TLS certificate and key, or listen on 127.0.0.1")
            .field("host"));
  SslContext tls;
  if (config.tls) {
    LATHE_TRY(tls, make_server_context(config.tls->certificate, config.tls->key));
  }
  LATHE_TRY(const int fd, open_listening(addresses.front()));
  LATHE_TRY_VOID(start_listening(fd));
  const Address bound = local_address(fd);
  port = ntohs(reinterpret_cast<const sockaddr_in&>(bound.storage).sin_port);  // the same place in sockaddr_in6
  auto& listener = listeners.emplace_back(context.loop, fd);
  listener.gate.tls = config.tls.has_value();
  listener.gate.port = port;
  listener.gate.host = config.host;
  for (const auto& name : config.allowed_hosts) listener.gate.allowed_hosts.push_back(base::to_lower(name));
  listener.tls = std::move(tls);
  return {};
}

base::Result<void> HttpServer::Impl::listen_unix(const std::filesystem::path& path, mode_t mode) {
  LATHE_TRY(const auto address, UnixAddress::make(path));
  // A socket file that is left over from a killed server; the state folder's lock says that nobody owns it.
  ::unlink(path.c_str());
  LATHE_TRY(const int fd, open_listening(address.address()));
  ::chmod(path.c_str(), mode);  // before listen(): nobody gets in with a wider one
  LATHE_TRY_VOID(start_listening(fd));
  auto& listener = listeners.emplace_back(context.loop, fd);
  listener.gate.any_host = true;
  socket_path = path;
  return {};
}

rt::Task<void> HttpServer::Impl::accept_from(Listener& listener) {
  while (co_await listener.socket.readable()) {
    // One in a full house, then a look whether there is another: nobody has to go for a client who does not come.
    bool accepted = false;
    if (is_full(listener)) {
      co_await make_room(listener);
      accepted = accept_one(listener);
    } else {
      while (!is_full(listener) && (accepted = accept_one(listener))) {
      }
    }
    if (accepted || errno == EAGAIN || listener.socket.is_closed()) continue;
    // Out of descriptors or memory: the pause keeps the loop from spinning on a backlog it cannot take.
    base::log::warn("accept-failed", {{"errno", errno}});
    co_await context.loop.sleep(kAcceptPause, scope.token());
  }
}

// The place is free when the session has ended: what is accepted never exceeds the limit.
rt::Task<void> HttpServer::Impl::make_room(Listener& listener) {
  auto* dispensable = find_dispensable(listener);
  if (!dispensable) co_return;
  dispensable->cut_off();
  while (is_full(listener)) co_await listener.left.changed(listener.left.version(), scope.token());
}

bool HttpServer::Impl::accept_one(Listener& listener) {
  if (listener.socket.is_closed()) return false;
  Address remote;
  remote.size = sizeof remote.storage;
  const int fd = ::accept4(listener.socket.fd(), reinterpret_cast<sockaddr*>(&remote.storage), &remote.size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return errno == EINTR || errno == ECONNABORTED;
  if (is_full(listener)) {
    if (!listener.tls) refuse_full(fd);
    ::close(fd);
    return true;
  }
  auto peer = listener.gate.any_host ? unix_peer(fd) : tcp_peer(fd, remote);
  scope.spawn("http-session", serve(listener, std::move(peer), fd));
  return true;
}

rt::Task<void> HttpServer::Impl::serve(Listener& listener, Peer peer, int fd) {
  HttpSession session(context, listener.gate, std::move(peer), fd, listener.tls.get());
  sessions.insert(&session);
  const auto place = listener.strangers.insert(listener.strangers.end(), &session);
  session.on_known([&] { listener.known.splice(listener.known.end(), listener.strangers, place); });
  co_await session.run();
  (session.is_known() ? listener.known : listener.strangers).erase(place);
  sessions.erase(&session);
  listener.left.notify();
}

rt::Task<void> HttpServer::Impl::cut_off_after(base::Duration drain, rt::CancelToken all_done) {
  co_await context.loop.sleep(drain, all_done);
  for_each_session([](HttpSession& session) { session.cut_off(); });
}

// Ending one session may end others, or begin one.
void HttpServer::Impl::for_each_session(const std::function<void(HttpSession&)>& visit) {
  for (auto* session : std::vector<HttpSession*>(sessions.begin(), sessions.end()))
    if (sessions.contains(session)) visit(*session);
}

void HttpServer::end_requests_of(const std::function<bool(const Principal&)>& is_meant) {
  impl_->for_each_session([&](HttpSession& session) {
    if (session.principal() && is_meant(*session.principal())) session.end_request();
  });
}

rt::Task<void> HttpServer::stop(base::Duration drain) {
  impl_->context.stopping = true;
  impl_->scope.stop();
  for (auto& listener : impl_->listeners) listener.socket.close();
  if (!impl_->socket_path.empty()) ::unlink(impl_->socket_path.c_str());
  for (auto* session : impl_->sessions) session->finish_soon();

  rt::Scope timer;
  rt::CancelSource all_done;
  timer.spawn("http-drain", impl_->cut_off_after(drain, all_done.token()));
  co_await impl_->scope.join();
  all_done.cancel();
  co_await timer.join();
}

}  // namespace lathe::net

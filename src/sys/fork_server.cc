#include "sys/fork_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/strings.h"
#include "sys/process.h"
#include "sys/process_tree.h"
#include "sys/socket_message.h"

namespace lathe::sys {
namespace {

// A message is the number of words, then words and variables, each with a NUL behind it; the descriptor comes along.
std::string encode(const ForkRequest& request) {
  std::string out = std::to_string(request.words.size());
  out += '\0';
  for (const auto* list : {&request.words, &request.variables})
    for (const auto& text : *list) out.append(text).push_back('\0');
  return out;
}

ForkRequest decode(std::string_view message) {
  ForkRequest request;
  auto parts = base::split(message, '\0');
  const auto words = base::parse_u64(parts.front()).value_or(0);
  for (std::size_t i = 1; i + 1 < parts.size(); ++i)  // the last part is what follows the last NUL: nothing
    (i <= words ? request.words : request.variables).emplace_back(parts[i]);
  return request;
}

base::Result<void> send_request(int socket, const ForkRequest& request) {
  const std::string text = encode(request);
  if (text.size() > kForkRoom) return base::fail(base::Code::too_large, "a request of {} bytes", text.size());
  const bool has_descriptor = request.descriptor >= 0;
  return send_message(socket, text, std::span(&request.descriptor, has_descriptor ? 1u : 0u));
}

struct Received {
  ForkRequest request;
  Fd descriptor;
};

// Nothing: the other end is closed.
std::optional<Received> receive_request(int socket) {
  auto message = receive_message(socket, kForkRoom);
  if (!message) return std::nullopt;
  Received out{decode(message->bytes), Fd()};
  if (!message->descriptors.empty()) out.descriptor = std::move(message->descriptors.front());
  return out;
}

class ForkServer {
 public:
  ForkServer(const ProcessTitle& title, const std::function<int(std::span<const std::string>)>& run)
      : title_(title), run_(run) {}

  base::Result<void> serve() {
    LATHE_TRY(Fd children, block_signals({SIGCHLD}));
    for (;;) {
      pollfd waits[] = {{kForkDescriptor, POLLIN, 0}, {children.get(), POLLIN, 0}};
      if (::poll(waits, 2, -1) < 0) continue;
      if (waits[1].revents != 0) {
        take_signals(children.get());
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
      }
      if (waits[0].revents == 0) continue;
      auto received = receive_request(kForkDescriptor);
      if (!received) return {};
      answer(*received);
    }
  }

 private:
  // The start time is read here, before the child can be reaped: until then its pid is nobody else's.
  void answer(Received& received) {
    pid_t pid = title_.fits(received.request.words) ? ::fork() : (errno = E2BIG, -1);
    const int failure = errno;
    if (pid == 0) become(received);
    std::string reply = pid > 0 ? fmt::format("{}:{}", pid, process_start(pid)) : fmt::format("error:{}", failure);
    ::send(kForkDescriptor, reply.data(), reply.size(), MSG_NOSIGNAL);
  }

  [[noreturn]] void become(Received& received) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::setsid();
    if (received.descriptor)
      ::dup3(received.descriptor.get(), kForkDescriptor, 0);
    else
      ::close(kForkDescriptor);
    close_all_except({received.descriptor ? kForkDescriptor : 2});
    received.descriptor.release();
    title_.set(received.request.words);
    for (auto& variable : received.request.variables) {
      auto equals = variable.find('=');
      ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
      ::explicit_bzero(variable.data(), variable.size());
    }
    int status = run_(received.request.words);
    std::fflush(nullptr);
    ::_exit(status);
  }

  const ProcessTitle& title_;
  const std::function<int(std::span<const std::string>)>& run_;
};

}  // namespace

base::Result<void> serve_forks(const ProcessTitle& title, const std::function<int(std::span<const std::string>)>& run) {
  return ForkServer(title, run).serve();
}

base::Result<void> ForkClient::connect() {
  LATHE_TRY(SocketPair pair, make_socket_pair());
  LATHE_TRY_VOID(starter_(pair.theirs.get()));
  socket_ = std::move(pair.ours);
  return {};
}

base::Result<std::string> ForkClient::start(const ForkRequest& request) {
  std::lock_guard lock(mutex_);
  if (!socket_) LATHE_TRY_VOID(connect());
  auto sent = send_request(socket_.get(), request);
  if (!sent && sent.error().code() == base::Code::too_large) return base::fail(std::move(sent).error());
  if (!sent) {  // it died since the last request: nothing was asked of it yet
    LATHE_TRY_VOID(connect());
    LATHE_TRY_VOID(send_request(socket_.get(), request));
  }
  char reply[64];
  ssize_t n = ::recv(socket_.get(), reply, sizeof reply, 0);
  if (n <= 0) {
    socket_.reset();
    return base::fail(base::Code::unavailable, "the fork server died");
  }
  std::string_view text(reply, static_cast<std::size_t>(n));
  if (text.starts_with("error:"))
    return base::fail(base::errno_error(static_cast<int>(base::parse_u64(text.substr(6)).value_or(EAGAIN)), "forking"));
  if (text.ends_with(':')) return base::fail(base::Code::unavailable, "/proc does not tell when a process started");
  return std::string(text);
}

}  // namespace lathe::sys

// For tests of net/: a real server on its own thread, and a raw client that sends what no decent client would.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <semaphore>
#include <thread>

#include "net/address.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "rt/notifier.h"
#include "rt/scope.h"
#include "support/temp_folder.h"

namespace lathe::net::testing {

using namespace std::chrono_literals;

inline constexpr auto kPatience = 10s;  // how long a test waits for what must happen

using support::TempFolder;

// "Bearer admin", "Bearer viewer", "Bearer contributor", "Bearer run:ID:ATTEMPT"; anything else is unauthorized.
inline rt::Task<Principal> authenticate_for_test(const Request& request) {
  const auto field = request.header("authorization").value_or("");
  Principal who;
  if (field.empty()) co_return who;
  if (field == "Bearer admin")
    who = {Role::admin, "admin", 1, "", 0, ""};
  else if (field == "Bearer viewer")
    who = {Role::viewer, "viewer", 2, "", 0, ""};
  else if (field == "Bearer contributor")
    who = {Role::contributor, "contributor", 3, "", 0, ""};
  else if (field == "Bearer run:r1:2")
    who = {Role::runner, "run r1", 0, "r1", 2, "", false};
  else
    throw base::Error(base::Code::unauthorized, "this token is not valid");
  co_return who;
}

class TestServer {
 public:
  rt::Loop loop;
  Router router;
  HttpLimits limits;
  ListenConfig config;
  TempFolder folder;
  std::vector<RequestOutcome> outcomes;  // read after stop()

  TestServer() { config.unix_socket = folder.path() / "api.sock"; }
  ~TestServer() { stop(); }

  void get(std::string path, Handler handler, Permission permission = Permission::open) {
    router.add({"GET", path, "get" + path, permission, std::move(handler)});
  }
  void post(std::string path, Handler handler, std::uint64_t body_limit = 8u << 20) {
    router.add({"POST", path, "post" + path, Permission::open, std::move(handler), body_limit});
  }

  base::Result<void> start() {
    server_ = std::make_unique<HttpServer>(
        loop, router, authenticate_for_test, [this](const RequestOutcome& outcome) { outcomes.push_back(outcome); },
        limits);
    auto listening = server_->listen(config);
    thread_ = std::thread([this] { loop.run(); });
    return listening;
  }

  // How long the server took to stop.
  base::Duration stop(base::Duration drain = 0s) {
    if (!server_) return {};
    const auto before = std::chrono::steady_clock::now();
    loop.post([&] { scope_.spawn("stop", stop_on_loop(drain)); });
    thread_.join();
    server_.reset();
    return std::chrono::steady_clock::now() - before;
  }

  void end_requests_of(Role role) {
    loop.post([this, role] { server_->end_requests_of([role](const Principal& who) { return who.role == role; }); });
  }

  std::uint16_t port() const { return server_->port(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }
  std::string unix_url() const { return "unix://" + config.unix_socket.string(); }
  std::thread::native_handle_type thread() { return thread_.native_handle(); }

 private:
  rt::Task<void> stop_on_loop(base::Duration drain) {
    co_await server_->stop(drain);
    loop.stop();
  }

  std::unique_ptr<HttpServer> server_;
  rt::Scope scope_;
  std::thread thread_;
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port) {
    const auto address = resolve("127.0.0.1", port)->front();
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd_, address.raw(), address.size), 0);
    host = "127.0.0.1:" + std::to_string(port);
  }
  ~RawClient() { close(); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  // False when the server has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  // Everything until the server closes.
  std::string read_to_end() {
    while (read_some()) {
    }
    return std::exchange(received_, {});
  }
  // Everything up to and with `mark`.
  std::string read_until(std::string_view mark) {
    while (received_.find(mark) == std::string::npos)
      if (!read_some()) {
        ADD_FAILURE() << "closed before " << mark << "; came: " << received_;
        return std::exchange(received_, {});
      }
    const auto end = received_.find(mark) + mark.size();
    auto out = received_.substr(0, end);
    received_.erase(0, end);
    return out;
  }
  // Reads at most so many bytes; false when the server has closed.
  bool read_at_most(std::size_t size) {
    std::string buffer(size, '\0');
    return ::recv(fd_, buffer.data(), size, 0) > 0;
  }
  // Waits a little for the end of the connection; true when it came.
  bool ends_within(std::chrono::milliseconds time) {
    pollfd polled{fd_, POLLRDHUP, 0};
    return ::poll(&polled, 1, static_cast<int>(time.count())) == 1;
  }
  std::string host;

 private:
  bool read_some() {
    pollfd polled{fd_, POLLIN, 0};
    if (::poll(&polled, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) != 1) {
      ADD_FAILURE() << "the server says nothing; came: " << received_;
      return false;
    }
    char buffer[65536];
    const auto count = ::recv(fd_, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    received_.append(buffer, static_cast<std::size_t>(count));
    return true;
  }
  int fd_ = -1;
  std::string received_;
};

inline rt::Task<Response> say_ok(Request&) { co_return Response::json("\"ok\""); }
inline rt::Task<Response> echo(Request& request) { co_return Response::json(co_await request.text()); }

inline ClientResponse must(base::Result<ClientResponse> result) {
  if (result) return std::move(*result);
  ADD_FAILURE() << result.error().text();
  return {};
}

// Goes on until the token fires, as a handler without an end of its own; `reason` tells what ended it.
inline rt::Task<void> wait_until_cancelled(TestServer& server, rt::CancelToken cancel,
                                           std::promise<base::Code>* reason = nullptr) {
  rt::Notifier never(server.loop);
  try {
    co_await never.changed(never.version(), cancel);
  } catch (const base::Error& error) {
    if (reason) reason->set_value(error.code());
    throw;
  }
}

// The handler says that it is at work, and waits until its client goes.
inline Handler waits_with(TestServer& server, std::counting_semaphore<>& at_work) {
  return [&](Request& request) -> rt::Task<Response> {
    at_work.release();
    co_await wait_until_cancelled(server, request.cancel);
    co_return Response::empty();
  };
}

// The handler waits until its client goes; `reason` tells what ended it.
inline Handler waits_for_cancel(TestServer& server, std::promise<void>& started, std::promise<base::Code>& reason) {
  return [&](Request& request) -> rt::Task<Response> {
    if (request.method == "POST") co_await request.text();
    started.set_value();
    co_await wait_until_cancelled(server, request.cancel, &reason);
    co_return Response::empty();
  };
}

}  // namespace lathe::net::testing

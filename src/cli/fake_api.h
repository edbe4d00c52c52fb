// A server for tests: answers each request on a Unix socket with what a function says, one connection per request, on a
// thread of its own per connection. Keeps a journal of the requests. Test support; not linked into the program.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "cli/api_client.h"

namespace lathe::cli {

struct FakeRequest {
  std::string method, target, body;
};

class FakeApi {
 public:
  // The raw answer; empty: the connection is closed without one.
  using Answer = std::function<std::string(const FakeRequest&)>;

  explicit FakeApi(Answer answer) : answer_(std::move(answer)) {
    path_ =
        std::filesystem::temp_directory_path() / fmt::format("lathe-api-{}.sock", base::to_hex(base::random_bytes(6)));
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.string().copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener_, 16) != 0)
      std::abort();
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~FakeApi() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (auto& thread : connections_) thread.join();
    ::close(listener_);
    std::filesystem::remove(path_);
  }

  ApiClient::Locate locate() const {
    return [url = "unix://" + path_.string()] {
      net::ClientConfig config;
      config.url = url;
      config.token = "secret";
      return base::Result<net::ClientConfig>(config);
    };
  }
  std::vector<FakeRequest> journal() {
    std::lock_guard lock(mutex_);
    return journal_;
  }
  // Waits until a request for a target with this beginning has come.
  bool saw(std::string_view beginning) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, std::chrono::seconds(20), [&] {
      return std::ranges::any_of(journal_,
                                 [&](const FakeRequest& request) { return request.target.starts_with(beginning); });
    });
  }

  static std::string json(std::string_view body, std::string_view status = "200 OK") {
    return fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
        body.size(), body);
  }
  // A stream; one that is not `whole` breaks off without its end.
  static std::string chunked(std::string_view body, bool whole = true) {
    return fmt::format("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{:x}\r\n{}\r\n{}",
                       body.size(), body, whole ? "0\r\n\r\n" : "");
  }

 private:
  void accept_all() {
    for (;;) {
      int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      connections_.emplace_back([this, fd] { serve(fd); });
    }
  }
  void serve(int fd) {
    FakeRequest request;
    if (read_request(fd, request)) {
      {
        std::lock_guard lock(mutex_);
        journal_.push_back(request);
      }
      arrived_.notify_all();
      std::string out = answer_(request);
      [[maybe_unused]] auto sent = ::send(fd, out.data(), out.size(), MSG_NOSIGNAL);
    }
    ::close(fd);
  }
  static bool read_request(int fd, FakeRequest& request) {
    std::string text;
    char buffer[65536];
    std::size_t end = std::string::npos, length = 0;
    while (end == std::string::npos || text.size() < end + 4 + length) {
      ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) return false;
      text.append(buffer, static_cast<std::size_t>(n));
      if (end != std::string::npos || (end = text.find("\r\n\r\n")) == std::string::npos) continue;
      auto head = base::to_lower(text.substr(0, end));
      if (auto at = head.find("content-length: "); at != head.npos)
        std::from_chars(head.data() + at + 16, head.data() + head.size(), length);
    }
    auto words = base::split(std::string_view(text).substr(0, text.find("\r\n")), ' ');
    request = {std::string(words[0]), std::string(words[1]), text.substr(end + 4)};
    return true;
  }

  Answer answer_;
  std::filesystem::path path_;
  int listener_ = -1;
  std::thread acceptor_;
  std::vector<std::thread> connections_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<FakeRequest> journal_;
};

}  // namespace lathe::cli

// HttpLink against a scripted answerer on a Unix socket: what goes over the wire, and how answers become results.
#include "runner/http_link.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <deque>
#include <filesystem>
#include <thread>

#include "base/strings.h"
#include "sys/fd.h"

namespace lathe::runner {
namespace {

// Takes one request per scripted answer, in order, on one connection after the other.
class Answerer {
 public:
  explicit Answerer(std::deque<std::string> answers) : answers_(std::move(answers)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(0, ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
    EXPECT_EQ(0, ::listen(listener_.get(), 8));
    thread_ = std::thread([this] { run(); });
  }
  ~Answerer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    std::filesystem::remove(path_);
  }
  std::string url() const { return "unix://" + path_; }
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  void run() {
    while (!answers_.empty()) {
      sys::Fd connection(::accept(listener_.get(), nullptr, nullptr));
      if (!connection) return;
      while (!answers_.empty() && serve(connection.get())) {
      }
    }
  }
  bool serve(int connection) {
    std::string request;
    char buffer[4096];
    for (std::size_t need = std::string::npos; request.size() < need;) {
      ssize_t n = ::read(connection, buffer, sizeof buffer);
      if (n <= 0) return false;
      request.append(buffer, static_cast<std::size_t>(n));
      std::size_t head = request.find("\r\n\r\n"), length = base::to_lower(request).find("content-length: ");
      if (head != std::string::npos) need = head + 4 + (length < head ? std::stoul(request.substr(length + 16)) : 0);
    }
    requests_.push_back(request);
    std::string answer = answers_.front();
    answers_.pop_front();
    return ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL) > 0;
  }

  const std::string path_ = std::filesystem::path(testing::TempDir()) / fmt::format("link-{}.sock", ::getpid());
  std::deque<std::string> answers_;
  std::vector<std::string> requests_;
  sys::Fd listener_;
  std::thread thread_;
};

std::string answer(int status, std::string_view body, std::string_view headers = "") {
  return fmt::format("HTTP/1.1 {} X\r\ncontent-type: application/json\r\n{}content-length: {}\r\n\r\n{}", status,
                     headers, body.size(), body);
}

std::unique_ptr<ServerLink> link_to(const Answerer& answerer) {
  return make_http_link(answerer.url(), {.run = "run-1", .attempt = 2, .node = 1, .token = "secret"}, "1.0");
}

TEST(HttpLink, ClaimsWithItsTokenAndReadsTheOrder) {
  Answerer answerer({answer(200, R"({"run":"run-1","attempt":2,"node":1,"node_count":2,"workspace":"w","experiment":"e",
    "command":["true"],"arguments":[],"environment":{"variables":{}},"snapshot":null,"slice":{"node":1,"node_name":"n","millicores":1000,"memory_bytes":5,"gpus":[]},
    "max_run_duration_seconds":60,"grace_seconds":7,"log_name":"l","segment_bytes":100,"enforce_memory":true})")});
  auto order = link_to(answerer)->claim();
  ASSERT_TRUE(order) << order.error().text();
  EXPECT_EQ("run-1", order->run.value);
  EXPECT_EQ(7, order->grace_seconds);
  EXPECT_TRUE(order->enforce_memory);
  EXPECT_TRUE(answerer.requests()[0].starts_with("POST /api/v1/attempts/run-1/2/claim HTTP/1.1\r\n"));
  EXPECT_NE(std::string::npos, base::to_lower(answerer.requests()[0]).find("authorization: bearer secret"));
  EXPECT_NE(std::string::npos, answerer.requests()[0].find(R"("node":1)"));
}

TEST(HttpLink, TellsAFencedAttemptFromAConflict) {
  Answerer answerer({answer(409, R"({"code":"attempt-fenced","message":"over"})"),
                     answer(409, R"({"code":"conflict","message":"hole"})")});
  auto link = link_to(answerer);
  EXPECT_EQ(base::Code::fenced, link->claim().error().code());
  EXPECT_EQ(base::Code::conflict, link->append_log({"l", 0, 9, "x", false}).error().code());
}

TEST(HttpLink, AppendsAndLinksLogs) {
  Answerer answerer({answer(200, R"({"size":5})"), answer(501, R"({"code":"unsupported","message":"elsewhere"})"),
                     answer(200, R"({"streams":{"a/b.txt":{"segment":3,"size":17,"sealed_through":2}}})")});
  auto link = link_to(answerer);
  EXPECT_EQ(5u, link->append_log({"a/b.txt", 3, 0, "hello", true}).value());
  EXPECT_EQ(base::Code::unsupported, link->link_log({"a/b.txt", 3, 5, false}).error().code());
  auto stand = link->log_stand("a/b.txt");
  EXPECT_EQ(3u, stand->segment);
  EXPECT_EQ(17u, stand->offset);
  EXPECT_TRUE(answerer.requests()[0].starts_with(
      "POST /api/v1/attempts/run-1/2/logs?name=a%2Fb.txt&segment=3&offset=0&seal=true "));
  EXPECT_TRUE(answerer.requests()[0].ends_with("\r\n\r\nhello"));
}

TEST(HttpLink, AppendsMetricsAndHearsOfAHole) {
  Answerer answerer({answer(200, R"({"offset":12})"),
                     answer(409, R"({"code":"conflict","message":"a hole"})", "lathe-offset: 3\r\n")});
  auto link = link_to(answerer);
  EXPECT_EQ(12u, link->append_metrics({"a b", 4, "line 1\n"}).value());
  EXPECT_EQ(base::Code::conflict, link->append_metrics({"s", 99, "x\n"}).error().code());
  EXPECT_TRUE(answerer.requests()[0].starts_with("POST /api/v1/attempts/run-1/2/metrics?source=a%20b&offset=4 "));
  EXPECT_TRUE(answerer.requests()[0].ends_with("line 1\n"));
}

TEST(HttpLink, ListensUntilTheServerWantsAStop) {
  auto chunk = [](std::string_view text) { return fmt::format("{:x}\r\n{}\r\n", text.size(), text); };
  Answerer answerer({"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunk("{\"desired\":\"run\"}\n") +
                     chunk("\n") + chunk("{\"desired\":\"stop\",") + chunk("\"reason\":\"preempted\"}\n")});
  std::vector<std::optional<model::EndReason>> heard;
  EXPECT_TRUE(link_to(answerer)->watch([&](const Wish& wish) {
    heard.push_back(wish.stop);
    return !wish.stop;
  }));
  EXPECT_EQ((std::vector<std::optional<model::EndReason>>{std::nullopt, model::EndReason::preempted}), heard);
  EXPECT_TRUE(answerer.requests()[0].starts_with("GET /api/v1/attempts/run-1/2/watch?node=1 "));
}

TEST(HttpLink, HearsOfSecretsAndExchangesThem) {
  const std::string line = "{\"desired\":\"run\",\"secrets\":true}\n";
  Answerer answerer(
      {fmt::format("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{}\r\n", line.size(), line),
       answer(200, R"({"secrets":[{"id":"b@2","value":"v\u0000\n"}]})")});
  auto link = link_to(answerer);
  EXPECT_TRUE(link->watch([](const Wish& wish) { return !wish.secrets; }));
  auto fresh = link->exchange_secrets(std::vector<std::string>{"a@1"});
  ASSERT_TRUE(fresh) << fresh.error().text();
  ASSERT_EQ(1u, fresh->size());
  EXPECT_EQ("b@2", fresh->front().id);
  EXPECT_EQ(std::string("v\0\n", 3), fresh->front().value);
  EXPECT_TRUE(answerer.requests()[1].ends_with(R"({"node":1,"hidden":["a@1"]})")) << answerer.requests()[1];
}

TEST(HttpLink, GetsWhatPrivateIndexesWant) {
  Answerer answerer({answer(200, R"({"credentials":[{"name":"pip-index-a","user":"u","password":"p"}]})")});
  auto credentials = link_to(answerer)->index_credentials();
  ASSERT_TRUE(credentials) << credentials.error().text();
  ASSERT_EQ(1u, credentials->size());
  EXPECT_EQ("pip-index-a", credentials->front().name);
  EXPECT_EQ("u", credentials->front().user);
  EXPECT_EQ("p", credentials->front().password);
}

TEST(HttpLink, UploadsALargeFileFromWhereTheServerStands) {
  std::string bytes(10'000, 'x');
  auto path = std::filesystem::path(testing::TempDir()) / fmt::format("large-{}", ::getpid());
  sys::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  ASSERT_EQ(10'000, ::write(file.get(), bytes.data(), bytes.size()));
  Answerer answerer(
      {answer(409, R"({"code":"conflict","message":"go on at 4000","field":"offset"})", "lathe-offset: 4000\r\n"),
       answer(201, "{}")});
  EXPECT_TRUE(link_to(answerer)->upload_file(base::sha256(bytes), bytes.size(), file.get()));
  EXPECT_NE(std::string::npos, answerer.requests()[1].find("?offset=4000&size=10000 "));
  std::filesystem::remove(path);
}

TEST(HttpLink, ServerThatIsNotThereIsUnavailable) {
  auto link = make_http_link("unix:///no/such/socket", {.run = "r", .attempt = 1, .node = 0, .token = "t"}, "1");
  EXPECT_EQ(base::Code::unavailable, link->claim().error().code());
}

TEST(HttpLink, AServerThatFallsSilentDuringTheWatchIsGivenUp) {
  // One wish, an empty line that keeps the connection alive, and then nothing, as behind a network that swallows all.
  Answerer answerer({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "12\r\n{\"desired\":\"run\"}\n\r\n1\r\n\n\r\n",
                     "never asked for: the connection stays open"});
  auto link = make_http_link(answerer.url(), {.run = "run-1", .attempt = 2, .node = 1, .token = "secret"}, "1.0",
                             std::chrono::milliseconds(100));
  int wishes = 0;
  auto ended = link->watch([&](const Wish&) { return ++wishes > 0; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(base::Code::timeout, ended.error().code());
  EXPECT_EQ(1, wishes);
}

}  // namespace
}  // namespace lathe::runner

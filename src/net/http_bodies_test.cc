// Answers that take their time: streams, files, clients that leave before the end and credentials that end before it.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "net/http_server.h"
#include "net/test_server.h"

namespace lathe::net {
namespace {

using namespace testing;

TEST(HttpBodies, AStreamIsSlowedByItsReader) {
  TestServer server;
  std::atomic<int> written = 0;
  server.get("/stream", [&](Request&) -> rt::Task<Response> {
    Response response;
    response.body = StreamBody([&written](BodyWriter& writer) -> rt::Task<void> {
      const std::string piece(64 * 1024, 's');
      for (int i = 0; i < 1000; ++i) {
        co_await writer.write(piece);
        ++written;
      }
    });
    co_return response;
  });
  server.get("/ping", say_ok);
  ASSERT_TRUE(server.start());
  RawClient slow(server.port());
  slow.send("GET /stream HTTP/1.1\r\nHost: " + slow.host + "\r\nConnection: close\r\n\r\n");
  slow.read_until("\r\n\r\n");
  // Others are served meanwhile; the stream stands still when the socket's buffers are full.
  HttpClient other({.url = server.url()});
  for (int last = -1; last != written;) {
    last = written;
    for (int i = 0; i < 200; ++i) EXPECT_EQ(must(other.request("GET", "/ping")).status, 200);
  }
  EXPECT_LT(written, 500);
  const auto rest = slow.read_to_end();
  EXPECT_GT(rest.size(), 64u * 1024 * 900);
  EXPECT_THAT(rest.substr(rest.size() - 5), "0\r\n\r\n");
  EXPECT_EQ(written, 1000);
}

TEST(HttpBodies, AClientThatIsAlwaysReadyDoesNotKeepTheHomeThread) {
  std::promise<void> blocked, sent;
  std::promise<int> served_at_turn;
  TestServer server;
  int served = 0;
  server.get("/first", [&](Request&) -> rt::Task<Response> {
    blocked.set_value();
    sent.get_future().wait();  // the home thread stands still while the client fills the socket
    co_return Response::json("1");
  });
  server.get("/next", [&](Request&) -> rt::Task<Response> {
    if (++served == 1) server.loop.post([&] { served_at_turn.set_value(served); });
    co_return Response::empty();
  });
  ASSERT_TRUE(server.start());
  RawClient client(server.port());
  client.send("GET /first HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
  blocked.get_future().wait();
  const std::string next = "GET /next HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n";
  std::string many;
  for (int i = 0; i < 300; ++i) many += next;
  client.send(many);  // all of it fits into the socket
  sent.set_value();
  for (int i = 0; i < 300; ++i) client.read_until("HTTP/1.1 204 ");
  EXPECT_LT(served_at_turn.get_future().get(), 100);
  server.stop();
  EXPECT_EQ(served, 300);
}

TEST(HttpBodies, AStreamThatFailsIsNotEndedProperly) {
  TestServer server;
  server.get("/broken", [](Request&) -> rt::Task<Response> {
    Response response;
    response.body = StreamBody([](BodyWriter& writer) -> rt::Task<void> {
      co_await writer.write("half");
      throw base::Error(base::Code::io, "disk");
    });
    co_return response;
  });
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.url()});
  std::string got;
  const auto result = client.download("/broken", [&](std::string_view piece) -> base::Result<void> {
    got += piece;
    return {};
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), base::Code::unavailable);
  EXPECT_EQ(got, "half");
}

TEST(HttpBodies, FilesAreSentFromTheirOffset) {
  TestServer server;
  const auto path = server.folder.path() / "file";
  std::string content;
  for (int i = 0; i < 1'000'000; ++i) content += std::to_string(i % 10);
  std::ofstream(path) << content;
  server.get("/file", [&](Request&) -> rt::Task<Response> {
    Response response;
    response.body = FileBody{::open(path.c_str(), O_RDONLY | O_CLOEXEC), 7, 900'000};
    co_return response;
  });
  ASSERT_TRUE(server.start());
  for (const auto& url : {server.url(), server.unix_url()}) {
    HttpClient client({.url = url});
    EXPECT_EQ(must(client.request("HEAD", "/file")).headers.at("content-length"), "900000");
    EXPECT_EQ(must(client.request("GET", "/file")).body, content.substr(7, 900'000));
    EXPECT_EQ(must(client.request("GET", "/file")).status, 200);
  }
}

TEST(HttpBodies, AClientThatLeavesDuringAFileHarmsNobody) {
  TestServer server;
  const auto path = server.folder.path() / "file";
  std::ofstream(path) << std::string(16 << 20, 'f');
  server.get("/file", [&](Request&) -> rt::Task<Response> {
    Response response;
    response.body = FileBody{::open(path.c_str(), O_RDONLY | O_CLOEXEC), 0, 16 << 20};
    co_return response;
  });
  ASSERT_TRUE(server.start());
  for (int i = 0; i < 20; ++i) {
    RawClient client(server.port());
    client.send("GET /file HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
    client.read_until("\r\n\r\n");
  }
  HttpClient client({.url = server.url()});
  EXPECT_EQ(must(client.request("GET", "/file")).body.size(), 16u << 20);
}

TEST(HttpBodies, AClientThatLeavesCancelsItsRequest) {
  for (const std::string method : {"GET", "POST"}) {
    std::promise<void> started;
    std::promise<base::Code> reason;
    TestServer server;
    server.router.add({method, "/wait", "wait", Permission::open, waits_for_cancel(server, started, reason)});
    ASSERT_TRUE(server.start());
    RawClient client(server.port());
    client.send(method + " /wait HTTP/1.1\r\nHost: " + client.host +
                (method == "GET" ? "\r\n\r\n" : "\r\nContent-Length: 2\r\n\r\n{}"));
    started.get_future().wait();
    client.close();
    auto ended = reason.get_future();
    ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready) << method;
    EXPECT_EQ(ended.get(), base::Code::cancelled);
  }
}

TEST(HttpBodies, AClientThatLeavesAnIdleStreamCancelsIt) {
  std::promise<base::Code> reason;
  TestServer server;
  server.get("/stream", [&](Request& request) -> rt::Task<Response> {
    Response response;
    response.body = StreamBody([&](BodyWriter& writer) -> rt::Task<void> {
      co_await writer.write("hello");
      co_await wait_until_cancelled(server, request.cancel, &reason);
    });
    co_return response;
  });
  ASSERT_TRUE(server.start());
  RawClient client(server.port());
  // A second request that waits in the pipeline must not hide the end.
  client.send("GET /stream HTTP/1.1\r\nHost: " + client.host + "\r\n\r\nGET /stream HTTP/1.1\r\nHost: " + client.host +
              "\r\n\r\n");
  client.read_until("hello");
  client.close();
  auto ended = reason.get_future();
  ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(ended.get(), base::Code::cancelled);
}

// One connection of each kind for one credential, whose credential then ends.
TEST(HttpBodies, ACredentialThatEndsTakesItsStreamsAndUploadsWithItAndNobodyElses) {
  TestServer server;
  std::promise<void> reading;
  server.get(
      "/stream",
      [&](Request& request) -> rt::Task<Response> {
        Response response;
        response.body = StreamBody([&](BodyWriter& writer) -> rt::Task<void> {
          co_await writer.write("hello");
          co_await wait_until_cancelled(server, request.cancel);
        });
        co_return response;
      },
      Permission::read);
  server.router.add({"POST", "/take", "take", Permission::read, [&](Request& request) -> rt::Task<Response> {
                       co_await request.body->read();
                       reading.set_value();
                       co_return Response::json(co_await request.text());
                     }});
  ASSERT_TRUE(server.start());
  auto ask = [](RawClient& client, std::string_view line, std::string_view who) {
    client.send(fmt::format("{} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n", line, client.host, who));
  };
  RawClient stream(server.port()), upload(server.port()), other(server.port());
  ask(stream, "GET /stream", "viewer");
  stream.send("\r\n");
  stream.read_until("hello");
  ask(other, "GET /stream", "admin");
  other.send("\r\n");
  other.read_until("hello");
  ask(upload, "POST /take", "viewer");
  upload.send("Content-Length: 100\r\n\r\npart");
  ASSERT_EQ(reading.get_future().wait_for(kPatience), std::future_status::ready);

  server.end_requests_of(Role::viewer);
  EXPECT_EQ(stream.read_to_end().find("0\r\n\r\n"), std::string::npos) << "it must not look complete";
  EXPECT_EQ(upload.read_to_end(), "");
  // The other one lives: its end comes only with the server's.
  auto alive = HttpClient({.url = server.url(), .token = "admin"}).request("GET", "/stream2");
  ASSERT_TRUE(alive);
  EXPECT_EQ(alive->status, 404);
  EXPECT_TRUE(other.send(" "));
  other.close();
}

TEST(HttpBodies, ACancelledHandlerOfAnEndedCredentialMayStillAnswerAndThenTheConnectionEnds) {
  TestServer server;
  std::promise<void> begun;
  server.get(
      "/work",
      [&](Request& request) -> rt::Task<Response> {
        begun.set_value();
        try {
          co_await wait_until_cancelled(server, request.cancel);
        } catch (const base::Error&) {
          // it may have changed something already, and says so
        }
        co_return Response::json("\"done\"");
      },
      Permission::read);
  ASSERT_TRUE(server.start());
  RawClient client(server.port());
  client.send("GET /work HTTP/1.1\r\nHost: " + client.host + "\r\nAuthorization: Bearer viewer\r\n\r\n");
  ASSERT_EQ(begun.get_future().wait_for(kPatience), std::future_status::ready);
  server.end_requests_of(Role::viewer);
  auto answer = client.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_TRUE(answer.ends_with("\"done\"")) << answer;
}

}  // namespace
}  // namespace lathe::net

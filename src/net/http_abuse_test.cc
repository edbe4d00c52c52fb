// What no decent client sends. Every case must end in an answer or a closed connection, and never in a second request
// that an intermediary did not see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "net/test_server.h"

namespace lathe::net {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Abuse : public ::testing::Test {
 protected:
  Abuse() {
    server.get("/ok", say_ok);
    server.get("/private", say_ok, Permission::read);
    server.get("/item/{name}",
               [](Request& request) -> rt::Task<Response> { co_return Response::json(request.params.at("name")); });
    server.post("/echo", echo);
    server.post("/ignore", say_ok);
  }
  void SetUp() override { ASSERT_TRUE(server.start()); }

  // The whole answer to `bytes`, up to the end of the connection.
  std::string talk(std::string bytes) {
    RawClient client(server.port());
    for (auto at = bytes.find("HOST"); at != bytes.npos; at = bytes.find("HOST")) bytes.replace(at, 4, client.host);
    client.send(bytes);
    client.half_close();
    return client.read_to_end();
  }
  static int count(std::string_view text, std::string_view part) {
    int found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
    return found;
  }

  TestServer server;
};

TEST_F(Abuse, ContradictoryFramingIsRefusedAndTheRestNeverParsed) {
  const std::string smuggled = "0\r\n\r\nGET /private HTTP/1.1\r\nHost: HOST\r\n\r\n";
  for (const std::string fields : {
           "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
           "Content-Length: 4\r\nContent-Length: 5\r\n",
           "Content-Length: 4\r\nContent-Length: 4\r\n",
           "Content-Length: 4, 5\r\n",
           "Content-Length: +4\r\n",
           "Content-Length: -1\r\n",
           "Content-Length: 0x4\r\n",
           "Content-Length: 99999999999999999999\r\n",
           "Content-Length:\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding : chunked\r\n",
           "Content-Length 4\r\n",
       }) {
    const auto answer = talk("POST /echo HTTP/1.1\r\nHost: HOST\r\n" + fields + "\r\n" + smuggled);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 ")) << fields;
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1) << fields;
    EXPECT_THAT(answer, HasSubstr("connection: close")) << fields;
    EXPECT_THAT(answer, HasSubstr("\"code\":\"invalid\"")) << fields;
  }
  for (const std::string value : {"gzip", "gzip, chunked", "chunked, identity", "xchunked", "\"chunked\""}) {
    const auto answer =
        talk("POST /echo HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: " + value + "\r\n\r\n" + smuggled);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 501 ")) << value;
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1) << value;
  }
}

TEST_F(Abuse, MalformedRequestsAreRefused) {
  for (const std::string request : {
           "GET /ok\r\n\r\n",  // HTTP/0.9
           "GET /ok HTTP/2.0\r\nHost: HOST\r\n\r\n",
           "GET /ok HTTP/1.1\nHost: HOST\n\n",  // bare LF
           "GET /ok HTTP/1.1\r\nHost: HOST\nX: y\r\n\r\n",
           "GET /ok HTTP/1.1\r\nHost: HOST\r\nX: a\rb\r\n\r\n",  // bare CR
           "GET  /ok HTTP/1.1\r\nHost: HOST\r\n\r\n",
           "GET /ok HTTP/1.1\r\nHost: HOST\r\nbad name: x\r\n\r\n",
           "GET /ok HTTP/1.1\r\nHost: HOST\r\n: empty\r\n\r\n",
           "GET /ok HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n",
           "GET /private HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer viewer\r\nAuthorization: Bearer admin\r\n\r\n",
           "GET ok HTTP/1.1\r\nHost: HOST\r\n\r\n",
           "GET http://HOST/ok HTTP/1.1\r\nHost: HOST\r\n\r\n",
           "GET /%00 HTTP/1.1\r\nHost: HOST\r\n\r\n",
           "GET /%zz HTTP/1.1\r\nHost: HOST\r\n\r\n",
           "GET /ok HTTP/1.1\r\n\r\n",  // no Host
           "\x16\x03\x01\x02 TLS to a plain port\r\n\r\n",
       }) {
    EXPECT_THAT(talk(request), StartsWith("HTTP/1.1 400 ")) << request;
  }
  EXPECT_EQ(talk(""), "");
  EXPECT_EQ(talk("GET /ok HTT"), "");
}

TEST_F(Abuse, DamagedChunksAreRefused) {
  for (const std::string body : {"zz\r\n", "5\r\nhelloXYZ\r\n\r\n", "-1\r\n\r\n", "ffffffffffffffffff\r\n",
                                 "1;=\"\r\nx\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n"}) {
    const auto answer = talk("POST /echo HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n" + body);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 ")) << body;
  }
}

TEST_F(Abuse, LargeAndManyHeaderFieldsAreRefused) {
  EXPECT_THAT(talk("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: HOST\r\n\r\n"), StartsWith("HTTP/1.1 414 "));
  EXPECT_THAT(talk("GET /ok HTTP/1.1\r\nHost: HOST\r\nX: " + std::string(70'000, 'a') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  std::string many = "GET /ok HTTP/1.1\r\nHost: HOST\r\n";
  for (int i = 0; i < 70; ++i) many += "X" + std::to_string(i) + ": y\r\n";
  EXPECT_THAT(talk(many + "\r\n"), StartsWith("HTTP/1.1 431 "));
}

TEST_F(Abuse, ALargeHeadInManySmallFieldsIsCountedAsAWhole) {
  server.stop();
  server.limits.header_count = 1'000'000;
  ASSERT_TRUE(server.start());
  RawClient client(server.port());
  client.send("GET /ok HTTP/1.1\r\nHost: " + client.host + "\r\n");
  // In pieces, so that no single call of the parser sees more than a few fields.
  const std::string piece = "X: " + std::string(100, 'y') + "\r\n";
  for (int i = 0; i < 2000 && client.send(piece); ++i) {
  }
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 431 "));
}

TEST_F(Abuse, MillionsOfTinyChunksCostLittle) {
  RawClient client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: " + client.host +
              "\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  std::string block;
  for (int i = 0; i < 10'000; ++i) block += "1\r\nx\r\n";
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(client.send(block));
  client.send("0\r\n\r\n");
  const auto answer = client.read_to_end();
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, 2'000'000u);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32 * 1024) << "KiB";
}

TEST_F(Abuse, EndlessChunkExtensionsAndTrailersAreCutOff) {
  const std::string start = "POST /echo HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(talk(start + "1;" + std::string(200'000, 'e')), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(talk(start + "0\r\nX: " + std::string(200'000, 't')), StartsWith("HTTP/1.1 400 "));
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "1;" + std::string(200, 'e') + "\r\nx\r\n";
  EXPECT_THAT(talk(start + many), StartsWith("HTTP/1.1 400 "));
}

TEST_F(Abuse, PipelinedRequestsAreAnsweredInOrder) {
  const auto answer = talk(
      "GET /item/1 HTTP/1.1\r\nHost: HOST\r\n\r\nPOST /echo HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\ntwo"
      "GET /item/a%2F%2e%2e HTTP/1.1\r\nHost: HOST\r\n\r\n");
  EXPECT_EQ(count(answer, "HTTP/1.1 200 "), 3);
  EXPECT_LT(answer.find("\r\n\r\n1"), answer.find("\r\n\r\ntwo"));
  EXPECT_LT(answer.find("\r\n\r\ntwo"), answer.find("\r\n\r\na/.."));
}

TEST_F(Abuse, AnUnreadBodyThatHasComeIsSkippedAndOneStillComingEndsTheConnection) {
  EXPECT_EQ(count(talk("POST /ignore HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\nabcGET /ok HTTP/1.1\r\nHost: "
                       "HOST\r\n\r\n"),
                  "HTTP/1.1 200 "),
            2);
  const auto answer = talk("POST /ignore HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1000\r\n\r\nabc");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("connection: close"));
}

TEST_F(Abuse, ContinueIsSaidOnlyToThoseWhoseBodyIsWanted) {
  RawClient client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: " + client.host + "\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ab");
  EXPECT_THAT(client.read_until("ab"), StartsWith("HTTP/1.1 200 "));
  const auto refused =
      talk("POST /nothing HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(talk("POST /echo HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\nExpect: tea\r\n\r\n"),
              StartsWith("HTTP/1.1 417 "));
}

TEST_F(Abuse, OldClientsAreServedAndClosed) {
  const auto answer = talk("GET /ok HTTP/1.0\r\nHost: HOST\r\n\r\nGET /ok HTTP/1.0\r\nHost: HOST\r\n\r\n");
  EXPECT_EQ(count(answer, "HTTP/1.1 200 "), 1);
  EXPECT_THAT(answer, HasSubstr("connection: close"));
}

TEST_F(Abuse, ForeignHostsAndOriginsAreRefused) {
  const auto status = [&](const std::string& method, const std::string& fields) {
    const auto answer = talk(method + " HTTP/1.1\r\n" + fields + "Content-Length: 0\r\n\r\n");
    return answer.size() < 12 ? std::string("none") : answer.substr(9, 3);
  };
  const auto port = std::to_string(server.port());
  EXPECT_EQ(status("GET /ok", "Host: localhost:" + port + "\r\n"), "200");
  EXPECT_EQ(status("GET /ok", "Host: [::1]:" + port + "\r\n"), "200");
  EXPECT_EQ(status("GET /ok", "Host: LocalHost:" + port + "\r\n"), "200");
  const std::vector<std::string> foreign{"evil.example",
                                         "evil.example:" + port,
                                         "localhost",
                                         "127.0.0.1:1",
                                         "",
                                         "localhost.evil.example:" + port,
                                         "localhost:" + port + "@evil",
                                         "[::1"};
  for (const auto& name : foreign) EXPECT_EQ(status("GET /ok", "Host: " + name + "\r\n"), "403") << name;

  const std::string host = "Host: HOST\r\n";
  EXPECT_EQ(status("POST /echo", host + "Origin: http://HOST\r\n"), "200");
  EXPECT_EQ(status("POST /echo", host + "Sec-Fetch-Site: same-origin\r\n"), "200");
  for (const std::string origin : {"http://evil.example", "null", "https://HOST", "http://localhost"})
    for (const std::string request : {"POST /echo", "GET /ok"})
      EXPECT_EQ(status(request, host + "Origin: " + origin + "\r\n"), "403") << request << " from " << origin;
  EXPECT_EQ(status("POST /echo", host + "Sec-Fetch-Site: cross-site\r\n"), "403");
  EXPECT_EQ(status("GET /ok", host + "Sec-Fetch-Site: cross-site\r\n"), "200");
}

TEST_F(Abuse, FurtherHostNamesCanBeAllowed) {
  server.stop();
  server.config.allowed_hosts = {"Lathe.Example", "other.example:8443"};
  ASSERT_TRUE(server.start());
  const auto status = [&](const std::string& host) {
    return talk("GET /ok HTTP/1.1\r\nHost: " + host + "\r\n\r\n").substr(9, 3);
  };
  EXPECT_EQ(status("lathe.example"), "200");
  EXPECT_EQ(status("lathe.example:9"), "200");
  EXPECT_EQ(status("other.example:8443"), "200");
  EXPECT_EQ(status("other.example"), "403");
}

TEST_F(Abuse, SlowHeadsBodiesAndIdleConnectionsAreClosed) {
  server.stop();
  server.limits.header_timeout = 50ms;
  server.limits.body_stall_timeout = 50ms;
  server.limits.keep_alive_timeout = 50ms;
  ASSERT_TRUE(server.start());
  RawClient silent(server.port()), slow(server.port()), stalled(server.port()), idle(server.port());
  slow.send("GET /ok HTTP/1.1\r\nHost: ");
  stalled.send("POST /echo HTTP/1.1\r\nHost: " + stalled.host + "\r\nContent-Length: 10\r\n\r\nabc");
  idle.send("GET /ok HTTP/1.1\r\nHost: " + idle.host + "\r\n\r\n");
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_EQ(slow.read_to_end(), "");
  EXPECT_THAT(stalled.read_to_end(), Not(StartsWith("HTTP/1.1 200 ")));
  EXPECT_THAT(idle.read_to_end(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(Abuse, ASlowHeadCannotBeKeptAliveByDripping) {
  server.stop();
  server.limits.header_timeout = 100ms;
  ASSERT_TRUE(server.start());
  RawClient client(server.port());
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  client.send("GET /ok HTTP/1.1\r\nX: ");
  while (client.send("y") && std::chrono::steady_clock::now() < give_up) {
  }
  EXPECT_LT(std::chrono::steady_clock::now(), give_up);
}

TEST_F(Abuse, ConnectionsOverTheLimitAreToldSoWhenAllAreAtWork) {
  server.stop();
  server.limits.connections = 2;
  std::counting_semaphore<> at_work(0);
  server.get("/wait", waits_with(server, at_work), Permission::read);
  ASSERT_TRUE(server.start());
  std::vector<std::unique_ptr<RawClient>> holders;
  for (int i = 0; i < 2; ++i) {
    auto& holder = holders.emplace_back(std::make_unique<RawClient>(server.port()));
    holder->send("GET /wait HTTP/1.1\r\nAuthorization: Bearer viewer\r\nHost: " + holder->host + "\r\n\r\n");
    ASSERT_TRUE(at_work.try_acquire_for(kPatience));
  }
  EXPECT_THAT(RawClient(server.port()).read_to_end(), StartsWith("HTTP/1.1 503 "));
  auto by_socket = HttpClient({.url = server.unix_url()}).request("GET", "/ok");
  ASSERT_TRUE(by_socket) << by_socket.error().text();
  EXPECT_EQ(by_socket->status, 200) << "the Unix socket is another door";
  holders.clear();
  std::string answer;
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!answer.starts_with("HTTP/1.1 200 ") && std::chrono::steady_clock::now() < give_up)
    answer = talk("GET /ok HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
}

TEST(ConnectionLimit, FollowsTheDescriptorsThatThisProcessMayOpen) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  auto with = [&](rlim_t descriptors) {
    rlimit lowered{descriptors, before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
    const int limit = connection_limit();
    ::setrlimit(RLIMIT_NOFILE, &before);
    return limit;
  };
  EXPECT_EQ(with(256), 16);
  EXPECT_EQ(with(1024), 256) << "both doors and what else needs descriptors fit together";
  if (before.rlim_max >= 10'000) EXPECT_EQ(with(10'000), 4096);
}

TEST_F(Abuse, AFullUnixSocketIsNoReasonToRefuseTcp) {
  server.stop();
  server.limits.connections = 1;
  std::counting_semaphore<> at_work(0);
  server.get("/wait", waits_with(server, at_work), Permission::read);
  ASSERT_TRUE(server.start());
  HttpClient holder({.url = server.unix_url(), .token = "viewer"});
  auto held = std::async(std::launch::async, [&] { return holder.request("GET", "/wait").has_value(); });
  ASSERT_TRUE(at_work.try_acquire_for(kPatience));
  auto second = HttpClient({.url = server.unix_url()}).request("GET", "/ok");
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->status, 503);
  auto by_tcp = HttpClient({.url = server.url()}).request("GET", "/ok");
  ASSERT_TRUE(by_tcp) << by_tcp.error().text();
  EXPECT_EQ(by_tcp->status, 200);
  holder.interrupt();
  EXPECT_FALSE(held.get());
}

TEST_F(Abuse, ManyIdleConnectionsCauseNoWakeUps) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 200; ++i) {
    auto& client = clients.emplace_back(std::make_unique<RawClient>(server.port()));
    client->send("GET /ok HTTP/1.1\r\nHost: " + client->host + "\r\n\r\n");
    client->read_until("\"ok\"");
  }
  const auto switches = [&] {
    std::promise<long> done;
    server.loop.post([&] {
      rusage use{};
      ::getrusage(RUSAGE_THREAD, &use);
      done.set_value(use.ru_nvcsw);
    });
    return done.get_future().get();
  };
  (void)switches();
  const long before = switches();
  std::promise<void>().get_future().wait_for(500ms);
  EXPECT_LE(switches() - before, 2);  // the two of asking
}

}  // namespace
}  // namespace lathe::net

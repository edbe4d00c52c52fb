// What one caller can take from the others: places, memory, time and requests, each with its bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/test_server.h"

namespace lathe::net {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Limits : public ::testing::Test {
 protected:
  Limits() {
    server.get("/ok", say_ok);
    server.get("/private", say_ok, Permission::read);
    server.post("/echo", echo);
  }
  std::string get(RawClient& client, const std::string& path, const std::string& token = "") {
    client.send("GET " + path + " HTTP/1.1\r\nHost: " + client.host + "\r\n" +
                (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") + "\r\n");
    return client.read_until("\r\n\r\n");
  }
  int status(std::uint16_t port, const std::string& path, const std::string& token) {
    HttpClient client({.url = "http://127.0.0.1:" + std::to_string(port), .token = token});
    return must(client.request("GET", path)).status;
  }
  TestServer server;
};

// ---- places ----

TEST_F(Limits, InAFullHouseTheOldestWithoutACredentialGoes) {
  server.limits.connections = 3;
  ASSERT_TRUE(server.start());
  RawClient known(server.port());
  EXPECT_THAT(get(known, "/private", "viewer"), StartsWith("HTTP/1.1 200 "));
  known.read_until("\"ok\"");
  RawClient oldest(server.port()), younger(server.port());
  EXPECT_THAT(get(oldest, "/ok"), StartsWith("HTTP/1.1 200 "));
  oldest.read_until("\"ok\"");
  EXPECT_THAT(get(younger, "/ok"), StartsWith("HTTP/1.1 200 "));
  younger.read_until("\"ok\"");

  EXPECT_EQ(status(server.port(), "/private", "admin"), 200);
  EXPECT_EQ(oldest.read_to_end(), "") << "it made room";
  EXPECT_THAT(get(younger, "/ok"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get(known, "/private", "viewer"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(Limits, AFloodOfSilentConnectionsKeepsNobodyOut) {
  server.limits.connections = 16;
  ASSERT_TRUE(server.start());
  std::vector<std::unique_ptr<RawClient>> flood;
  for (int i = 0; i < 400; ++i) {
    flood.push_back(std::make_unique<RawClient>(server.port()));
    if (i % 40 == 0) EXPECT_EQ(status(server.port(), "/private", "admin"), 200) << i;
  }
  EXPECT_EQ(status(server.port(), "/private", "admin"), 200);
}

TEST_F(Limits, WithoutStrangersTheGreediestGivesUpAnIdlePlace) {
  server.limits.connections = 3;
  ASSERT_TRUE(server.start());
  RawClient first(server.port()), second(server.port()), other(server.port());
  for (auto* client : {&first, &second}) {
    get(*client, "/private", "viewer");
    client->read_until("\"ok\"");
  }
  get(other, "/private", "contributor");
  other.read_until("\"ok\"");
  EXPECT_EQ(status(server.port(), "/private", "admin"), 200);
  EXPECT_EQ(first.read_to_end(), "");
  EXPECT_THAT(get(other, "/private", "contributor"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(Limits, OneCallerCannotHoldAllPlacesWithStreams) {
  server.limits.connections = 4;
  server.get(
      "/stream",
      [&](Request& request) -> rt::Task<Response> {
        Response response;
        response.body = StreamBody([this, cancel = request.cancel](BodyWriter& out) -> rt::Task<void> {
          co_await out.write("begun");
          co_await wait_until_cancelled(server, cancel);
        });
        co_return response;
      },
      Permission::read);
  ASSERT_TRUE(server.start());
  std::vector<std::unique_ptr<RawClient>> streams;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(std::make_unique<RawClient>(server.port()));
    get(*streams.back(), "/stream", "viewer");
    streams.back()->read_until("begun");
  }
  EXPECT_EQ(status(server.port(), "/private", "admin"), 200);
  streams[0]->read_to_end();  // the oldest was broken off
  EXPECT_FALSE(streams[1]->ends_within(0ms));
}

// ---- time ----

TEST_F(Limits, ABodyThatDripsIsCutOff) {
  server.limits.body_stall_timeout = 100ms;
  server.limits.floor_bytes_per_second = 10'000;
  ASSERT_TRUE(server.start());
  RawClient client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: " + client.host + "\r\nContent-Length: 1000000\r\n\r\n");
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  bool ended = false;
  while (!ended && client.send("x") && std::chrono::steady_clock::now() < give_up) ended = client.ends_within(5ms);
  EXPECT_LT(std::chrono::steady_clock::now(), give_up) << "each byte bought more time";
}

TEST_F(Limits, AReaderBelowTheFloorIsCutOff) {
  server.limits.body_stall_timeout = 200ms;
  server.limits.floor_bytes_per_second = 1u << 30;
  std::promise<base::Code> reason;
  server.get("/endless", [&](Request&) -> rt::Task<Response> {
    Response response;
    response.body = StreamBody([&](BodyWriter& out) -> rt::Task<void> {
      const std::string piece(64 * 1024, 'x');
      try {
        for (;;) co_await out.write(piece);
      } catch (const base::Error& error) {
        reason.set_value(error.code());
        throw;
      }
    });
    co_return response;
  });
  ASSERT_TRUE(server.start());
  RawClient client(server.port());
  get(client, "/endless");
  auto ended = reason.get_future();
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  // Steady progress, so that no single wait is long; but far less than the floor.
  while (ended.wait_for(1ms) != std::future_status::ready && std::chrono::steady_clock::now() < give_up)
    client.read_at_most(32 * 1024);
  ASSERT_EQ(ended.wait_for(0ms), std::future_status::ready) << "each piece bought more time";
  EXPECT_EQ(ended.get(), base::Code::timeout);
}

// ---- memory ----

TEST_F(Limits, BodiesOfOneCallerWaitForOneAnotherAndNotForOthers) {
  server.limits.memory = {.total = 64 << 10, .per_caller = 32 << 10, .waiting_per_caller = 64, .patience = kPatience};
  server.router.add({"POST", "/collect", "collect", Permission::read, echo, 32 << 10});
  ASSERT_TRUE(server.start());
  const std::string head = "POST /collect HTTP/1.1\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 20000\r\nHost: ";
  auto begin = [&](RawClient& client, const std::string& token) {
    auto text = head + client.host + "\r\nExpect: 100-continue\r\n\r\n";
    client.send(text.replace(text.find("TOKEN"), 5, token));
  };
  RawClient first(server.port()), second(server.port()), other(server.port());
  begin(first, "viewer");
  first.read_until("100 Continue\r\n\r\n");
  begin(second, "viewer");  // is not asked for its bytes: they would not fit
  begin(other, "contributor");
  other.read_until("100 Continue\r\n\r\n");
  other.send(std::string(20000, 'o'));
  EXPECT_THAT(other.read_until("ooo"), HasSubstr("200 OK"));
  EXPECT_FALSE(second.ends_within(0ms));
  first.send(std::string(20000, 'f'));
  EXPECT_THAT(first.read_until("fff"), HasSubstr("200 OK"));
  second.read_until("100 Continue\r\n\r\n");
  second.send(std::string(20000, 's'));
  EXPECT_THAT(second.read_until("sss"), HasSubstr("200 OK"));
}

TEST_F(Limits, WhoWaitsTooLongForMemoryHearsWhenToComeAgain) {
  server.limits.memory = {.total = 64 << 10, .per_caller = 32 << 10, .waiting_per_caller = 64, .patience = 20ms};
  ASSERT_TRUE(server.start());
  RawClient holder(server.port());
  holder.send("POST /echo HTTP/1.1\r\nHost: " + holder.host +
              "\r\nContent-Length: 32768\r\nExpect: 100-continue\r\n\r\n");
  holder.read_until("100 Continue\r\n\r\n");
  const auto refused = must(HttpClient({.url = server.url()}).request("POST", "/echo", "\"hello\""));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  const auto by_socket = must(HttpClient({.url = server.unix_url()}).request("POST", "/echo", "\"hello\""));
  EXPECT_EQ(by_socket.status, 200) << "another caller";
}

TEST_F(Limits, ABodyOfUnknownLengthGrowsOnlyWithinTheBudget) {
  server.limits.memory = {.total = 1 << 20, .per_caller = 256 << 10, .waiting_per_caller = 64, .patience = 20ms};
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.url()});
  auto upload = [&](std::size_t size) {
    std::size_t sent = 0;
    auto source = [&](char* buffer, std::size_t room) -> base::Result<std::size_t> {
      const auto count = std::min(room, size - sent);
      std::fill_n(buffer, count, 'x');
      sent += count;
      return count;
    };
    return must(client.upload("POST", "/echo", std::nullopt, source, "text/plain")).status;
  };
  EXPECT_EQ(upload(64 << 10), 200);
  EXPECT_EQ(upload(1 << 20), 503);
  EXPECT_EQ(upload(64 << 10), 200) << "what was held is given back";
}

TEST_F(Limits, AnswersThatNobodyReadsAreBounded) {
  server.limits.memory = {.total = 64 << 20, .per_caller = 20 << 20, .waiting_per_caller = 64, .patience = 20ms};
  server.get("/large", [](Request&) -> rt::Task<Response> { co_return Response::json(std::string(9 << 20, 'x')); },
             Permission::read);
  ASSERT_TRUE(server.start());
  std::vector<std::unique_ptr<RawClient>> readers;
  for (int i = 0; i < 2; ++i) {
    readers.push_back(std::make_unique<RawClient>(server.port()));
    EXPECT_THAT(get(*readers.back(), "/large", "viewer"), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_EQ(status(server.port(), "/large", "viewer"), 503);
  EXPECT_EQ(status(server.port(), "/large", "admin"), 200);
}

// ---- requests ----

TEST_F(Limits, EachTokenHasARateAndAdministratorsHaveNone) {
  server.limits.requests_per_second = 0.01;
  server.limits.burst = 3;
  ASSERT_TRUE(server.start());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status(server.port(), "/private", "viewer"), 200);
  HttpClient client({.url = server.url(), .token = "viewer"});
  const auto refused = must(client.request("GET", "/private"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.error().code(), base::Code::rate_limited);
  EXPECT_EQ(refused.headers.at("retry-after"), "100");
  EXPECT_EQ(status(server.port(), "/ok", ""), 200) << "open to all";
  EXPECT_EQ(status(server.port(), "/private", "contributor"), 200) << "another token";
  for (int i = 0; i < 10; ++i) EXPECT_EQ(status(server.port(), "/private", "admin"), 200);
}

}  // namespace
}  // namespace lathe::net

#include "net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <atomic>

#include "net/test_server.h"

namespace lathe::net {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string compress(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

TEST(HttpServer, AnswersOverTcpAndUnixOnOneConnectionEach) {
  TestServer server;
  std::vector<std::string> remotes;
  server.get("/who", [&](Request& request) -> rt::Task<Response> {
    remotes.push_back(request.remote);
    co_return Response::json("\"seen\"");
  });
  ASSERT_TRUE(server.start());
  HttpClient tcp({.url = server.url()}), local({.url = server.unix_url()});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(must(tcp.request("GET", "/who")).status, 200);
    EXPECT_EQ(must(local.request("GET", "/who")).status, 200);
  }
  server.stop();
  ASSERT_EQ(remotes.size(), 4u);
  EXPECT_EQ(remotes[0], remotes[2]);  // kept alive
  EXPECT_THAT(remotes[0], StartsWith("127.0.0.1:"));
  EXPECT_EQ(remotes[1], fmt::format("unix uid={} pid={}", ::getuid(), ::getpid()));
}

TEST(HttpServer, EveryAnswerCarriesTheSecurityFields) {
  TestServer server;
  server.get("/ok", say_ok);
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.url()});
  for (const auto* path : {"/ok", "/missing"}) {
    const auto headers = must(client.request("GET", path)).headers;
    EXPECT_EQ(headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(headers.at("referrer-policy"), "no-referrer");
    EXPECT_EQ(headers.at("cache-control"), "no-store");
    EXPECT_THAT(headers.at("content-security-policy"), StartsWith("default-src 'none'"));
    EXPECT_FALSE(headers.contains("access-control-allow-origin"));
    EXPECT_THAT(headers.at("date"), HasSubstr("GMT"));
  }
}

TEST(HttpServer, CredentialIsAskedBeforeARouteIsKnownToExist) {
  TestServer server;
  server.get("/open", say_ok);
  server.get("/secret", say_ok, Permission::read);
  server.get("/admin", say_ok, Permission::administer);
  server.get("/attempts/{run}/{attempt}", say_ok, Permission::own_attempt);
  ASSERT_TRUE(server.start());
  const auto status = [&](const char* token, const char* method, const char* path) {
    HttpClient client({.url = server.unix_url(), .token = token});
    const auto response = must(client.request(method, path));
    if (response.status == 401) {
      EXPECT_EQ(response.headers.at("www-authenticate"), "Bearer");
    }
    return response.status;
  };
  EXPECT_EQ(status("", "GET", "/open"), 200);
  EXPECT_EQ(status("wrong", "GET", "/open"), 200);
  for (const auto* path : {"/secret", "/nothing", "/secret/../open"}) {
    EXPECT_EQ(status("", "GET", path), 401) << path;
    EXPECT_EQ(status("wrong", "GET", path), 401) << path;
  }
  EXPECT_EQ(status("", "OPTIONS", "/secret"), 401);
  EXPECT_EQ(status("viewer", "GET", "/secret"), 200);
  EXPECT_EQ(status("viewer", "GET", "/nothing"), 404);
  EXPECT_EQ(status("viewer", "GET", "/secret/../secret"), 404);
  EXPECT_EQ(status("viewer", "GET", "/%2e%2e/secret"), 404);
  EXPECT_EQ(status("viewer", "GET", "/admin"), 403);
  EXPECT_EQ(status("admin", "GET", "/admin"), 200);
  EXPECT_EQ(status("run:r1:2", "GET", "/attempts/r1/2"), 200);
  EXPECT_EQ(status("run:r1:2", "GET", "/attempts/r1/3"), 403);
  EXPECT_EQ(status("admin", "GET", "/attempts/r1/2"), 403);
}

TEST(HttpServer, OtherMethodsAreToldWhatIsAllowed) {
  TestServer server;
  server.get("/thing", say_ok, Permission::read);
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.url(), .token = "viewer"});
  for (const auto* method : {"POST", "OPTIONS", "TRACE", "DELETE"}) {
    const auto response = must(client.request(method, "/thing"));
    EXPECT_EQ(response.status, 405) << method;
    EXPECT_EQ(response.headers.at("allow"), "GET, HEAD");
    EXPECT_EQ(response.error().code(), base::Code::no_method);
  }
  EXPECT_EQ(must(client.request("BREW", "/thing")).status, 501);
  const auto head = must(client.request("HEAD", "/thing"));
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "4");
  EXPECT_EQ(head.body, "");
}

TEST(HttpServer, ErrorsHaveOneShapeAndForeignExceptionsTellNothing) {
  TestServer server;
  server.get("/error", [](Request&) -> rt::Task<Response> {
    throw base::Error(base::Code::conflict, "quote \" and \n and \xff").hint("do this").field("name");
    co_return Response::empty();
  });
  server.get("/crash", [](Request&) -> rt::Task<Response> {
    throw std::runtime_error("the secret of the house");
    co_return Response::empty();
  });
  server.get("/split", [](Request&) -> rt::Task<Response> {
    auto response = Response::empty(200);
    response.headers["x"] = "a\r\nset-cookie: b";
    co_return response;
  });
  server.get("/framing", [](Request&) -> rt::Task<Response> {
    auto response = Response::json("{}");
    response.headers["content-length"] = "1";
    co_return response;
  });
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.unix_url()});
  const auto error = must(client.request("GET", "/error"));
  EXPECT_EQ(error.status, 409);
  EXPECT_EQ(error.error().code(), base::Code::conflict);
  EXPECT_THAT(error.error().message(), StartsWith("quote \" and "));
  EXPECT_EQ(error.error().hint(), "do this");
  EXPECT_EQ(error.error().field(), "name");
  const auto crash = must(client.request("GET", "/crash"));
  EXPECT_EQ(crash.status, 500);
  EXPECT_THAT(crash.body, Not(HasSubstr("secret")));
  for (const auto* path : {"/split", "/framing"}) {
    const auto refused = must(client.request("GET", path));
    EXPECT_EQ(refused.status, 500) << path;
    EXPECT_FALSE(refused.headers.contains("set-cookie"));
  }
}

TEST(HttpServer, BodiesComeWholeWhateverTheirFraming) {
  TestServer server;
  server.post("/echo", echo, 1 << 20);
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.url()});
  const std::string body(300'000, 'x');
  EXPECT_EQ(must(client.request("POST", "/echo", body)).body, body);
  for (const bool known : {true, false}) {
    std::size_t sent = 0;
    const auto source = [&](char* buffer, std::size_t size) -> base::Result<std::size_t> {
      const auto count = std::min(size, body.size() - sent);
      std::memcpy(buffer, body.data() + sent, count);
      sent += count;
      return count;
    };
    const auto length = known ? std::optional<std::uint64_t>(body.size()) : std::nullopt;
    EXPECT_EQ(must(client.upload("POST", "/echo", length, source, "text/plain")).body, body);
  }
  EXPECT_EQ(must(client.request("POST", "/echo")).body, "");
}

TEST(HttpServer, BodiesOverTheLimitAreRefusedWithAnAnswer) {
  TestServer server;
  server.post("/echo", echo, 1000);
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.url()});
  const std::string body(8 << 20, 'x');
  EXPECT_EQ(must(client.request("POST", "/echo", body)).status, 413);
  std::size_t sent = 0;
  const auto endless = [&](char* buffer, std::size_t size) -> base::Result<std::size_t> {
    std::memset(buffer, 'x', size);
    return (sent += size) > (64u << 20) ? 0 : size;
  };
  EXPECT_EQ(must(client.upload("POST", "/echo", std::nullopt, endless, "text/plain")).status, 413);
  EXPECT_LT(sent, 64u << 20);
  EXPECT_EQ(must(client.request("POST", "/echo", std::string(1000, 'y'))).status, 200);
}

TEST(HttpServer, ZstdBodiesAreDecodedAndBombsRefused) {
  TestServer server;
  server.post("/echo", echo, 1 << 20);
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.unix_url()});
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i);
  const Headers zstd{{"content-encoding", "zstd"}};
  EXPECT_EQ(must(client.request("POST", "/echo", compress(text), "text/plain", zstd)).body, text);
  // Two frames are one body.
  EXPECT_EQ(must(client.request("POST", "/echo", compress("ab") + compress("cd"), "text/plain", zstd)).body, "abcd");
  EXPECT_EQ(must(client.request("POST", "/echo", compress(std::string(64 << 20, '\0')), "text/plain", zstd)).status,
            413);
  EXPECT_EQ(must(client.request("POST", "/echo", "not zstd", "text/plain", zstd)).status, 400);
  const auto whole = compress(text);
  EXPECT_EQ(must(client.request("POST", "/echo", whole.substr(0, whole.size() / 2), "text/plain", zstd)).status, 400);
  EXPECT_EQ(must(client.request("POST", "/echo", "x", "text/plain", {{"content-encoding", "br"}})).status, 415);
}

TEST(HttpServer, StopLetsRequestsFinishWithinTheDrain) {
  std::promise<void> started;
  rt::CancelSource go;
  TestServer server;
  server.get("/slow", [&](Request&) -> rt::Task<Response> {
    started.set_value();
    try {
      co_await wait_until_cancelled(server, go.token());
    } catch (const base::Error&) {
    }
    co_return Response::json("\"done\"");
  });
  server.get("/ping", say_ok);
  ASSERT_TRUE(server.start());
  HttpClient idle({.url = server.url()});
  must(idle.request("GET", "/ping"));
  RawClient client(server.port());
  client.send("GET /slow HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
  started.get_future().wait();
  const auto url = server.url();
  std::thread finisher([&] {
    // Once the stop has closed the idle connection and the listener, the request may end.
    HttpClient late({.url = url});
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (late.request("GET", "/ping") && std::chrono::steady_clock::now() < give_up) {
    }
    server.loop.post([&] { go.cancel(); });
  });
  EXPECT_LT(server.stop(1min), 20s);
  finisher.join();
  const auto answer = client.read_to_end();
  EXPECT_THAT(answer, HasSubstr("\"done\""));
  EXPECT_THAT(answer, HasSubstr("connection: close"));
}

TEST(HttpServer, StopCancelsWhatOutlivesTheDrain) {
  std::promise<void> started;
  std::promise<base::Code> reason;
  TestServer server;
  server.get("/wait", waits_for_cancel(server, started, reason));
  ASSERT_TRUE(server.start());
  RawClient client(server.port());
  client.send("GET /wait HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
  started.get_future().wait();
  EXPECT_LT(server.stop(10ms), 10s);
  EXPECT_EQ(reason.get_future().get(), base::Code::cancelled);
  EXPECT_FALSE(std::filesystem::exists(server.config.unix_socket));
}

TEST(HttpServer, StopEndsStreamsAtOnceInsteadOfWaitingForTheDrain) {
  std::promise<void> started;
  std::promise<base::Code> reason;
  TestServer server;
  server.get("/follow", [&](Request& request) -> rt::Task<Response> {
    Response response;
    response.body = StreamBody([&, cancel = request.cancel](BodyWriter& out) -> rt::Task<void> {
      co_await out.write("first");
      started.set_value();
      co_await wait_until_cancelled(server, cancel, &reason);
    });
    co_return response;
  });
  ASSERT_TRUE(server.start());
  RawClient client(server.port());
  client.send("GET /follow HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
  started.get_future().wait();
  EXPECT_LT(server.stop(1h), 1h) << "the drain is for requests that end by themselves";
  EXPECT_EQ(reason.get_future().get(), base::Code::cancelled);
}

TEST(HttpServer, TellsOfEveryFinishedRequest) {
  TestServer server;
  server.get("/ok", say_ok);
  ASSERT_TRUE(server.start());
  HttpClient client({.url = server.url()});
  must(client.request("GET", "/ok"));
  must(client.request("DELETE", "/nothing"));
  server.stop();
  ASSERT_EQ(server.outcomes.size(), 2u);
  EXPECT_EQ(server.outcomes[0].operation, "get/ok");
  EXPECT_EQ(server.outcomes[0].status, 200);
  EXPECT_EQ(server.outcomes[1].operation, "");
  EXPECT_EQ(server.outcomes[1].method, "DELETE");
  EXPECT_EQ(server.outcomes[1].status, 401);
}

TEST(HttpServer, RefusesTheNetworkWithoutTls) {
  for (const auto* host : {"0.0.0.0", "::", "192.0.2.1"}) {
    TestServer server;
    server.config.host = host;
    const auto listening = server.start();
    ASSERT_FALSE(listening) << host;
    EXPECT_EQ(listening.error().code(), base::Code::invalid);
    EXPECT_THAT(listening.error().hint(), HasSubstr("TLS"));
    EXPECT_EQ(listening.error().field(), "host");
  }
}

TEST(HttpServer, TheSocketFileIsForItsOwnerAndMayHaveALongPath) {
  TestServer server;
  auto deep = server.folder.path();
  for (int i = 0; i < 5; ++i) deep /= std::string(40, 'd');
  std::filesystem::create_directories(deep);
  server.config.unix_socket = deep / "api.sock";
  server.get("/ok", say_ok);
  ASSERT_TRUE(server.start());
  EXPECT_EQ(std::filesystem::status(server.config.unix_socket).permissions(), std::filesystem::perms(0600));
  HttpClient client({.url = server.unix_url()});
  EXPECT_EQ(must(client.request("GET", "/ok")).status, 200);
}

}  // namespace
}  // namespace lathe::net

// zstd on the wire, between the real client and the real server over TCP.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include "base/strings.h"
#include "net/client_stream.h"
#include "net/test_server.h"
#include "net/zstd_stream.h"

namespace lathe::net {
namespace {

using namespace testing;

std::string readable_text(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += fmt::format("epoch {} loss 0.{}\n", i, i * 7919 % 1000);
  return text;
}

// Gives `text` in uneven pieces.
BodySource source_of(const std::string& text) {
  return [&text, at = std::size_t{0}](char* buffer, std::size_t size) mutable -> base::Result<std::size_t> {
    const auto count = text.substr(at).copy(buffer, std::min<std::size_t>(size, 10'007));
    at += count;
    return count;
  };
}

class PackingTest : public ::testing::Test {
 protected:
  TestServer server_;
  std::string seen_encoding_;

  void SetUp() override {
    server_.post(
        "/echo",
        [this](Request& request) -> rt::Task<Response> {
          seen_encoding_ = request.header("content-encoding").value_or("none");
          auto response = Response::json(co_await request.text());
          co_return response;
        },
        64u << 20);
    server_.get("/text", [](Request&) -> rt::Task<Response> {
      auto response = Response::json(readable_text(20'000));
      response.may_be_packed = true;
      co_return response;
    });
    server_.get("/stream", [](Request&) -> rt::Task<Response> {
      Response response;
      response.may_be_packed = true;
      response.body = StreamBody([](BodyWriter& out) -> rt::Task<void> {
        for (int i = 0; i < 10; ++i) co_await out.write(readable_text(2'000));
      });
      co_return response;
    });
    server_.get("/plain", [](Request&) -> rt::Task<Response> { co_return Response::json(readable_text(20'000)); });
    ASSERT_TRUE(server_.start());
  }
  HttpClient client(Packing packing) { return HttpClient({.url = server_.url(), .packing = packing}); }
};

TEST_F(PackingTest, UploadsThatShrinkTravelPackedAndArriveWhole) {
  const auto text = readable_text(50'000);
  auto packing = client(Packing::always);
  for (auto length : {std::optional<std::uint64_t>(text.size()), std::optional<std::uint64_t>()}) {
    const auto before = packing.traffic().sent;
    EXPECT_EQ(packing.upload("POST", "/echo", length, source_of(text), "text/plain").value().body, text);
    EXPECT_EQ(seen_encoding_, "zstd");
    EXPECT_LT(packing.traffic().sent - before, text.size() / 2);
  }
  EXPECT_EQ(packing.request("POST", "/echo", text, "text/plain").value().body, text);
  EXPECT_EQ(seen_encoding_, "zstd");
}

TEST_F(PackingTest, WhatDoesNotShrinkOrIsSmallTravelsAsItIs) {
  const auto noise = base::random_bytes(300'000);
  auto packing = client(Packing::always);
  EXPECT_EQ(packing.upload("POST", "/echo", noise.size(), source_of(noise), "text/plain").value().body, noise);
  EXPECT_EQ(seen_encoding_, "none");
  EXPECT_EQ(packing.request("POST", "/echo", noise, "text/plain").value().body, noise);
  EXPECT_EQ(seen_encoding_, "none");
  for (const std::string& small : {std::string(), std::string("small"), std::string(1000, 'x')}) {
    EXPECT_EQ(packing.upload("POST", "/echo", small.size(), source_of(small), "text/plain").value().body, small);
    EXPECT_EQ(seen_encoding_, "none");
  }
}

TEST_F(PackingTest, AFailingSourceEndsAPackedUpload) {
  const auto text = readable_text(20'000);
  int calls = 0;
  auto failing = [&, good = source_of(text)](char* buffer, std::size_t size) -> base::Result<std::size_t> {
    if (++calls == 20) return base::fail(base::Code::conflict, "the file changed");
    return good(buffer, size);
  };
  EXPECT_EQ(client(Packing::always).upload("POST", "/echo", text.size(), failing, "text/plain").error().code(),
            base::Code::conflict);
}

TEST_F(PackingTest, AnswersTravelPackedToAClientThatAsks) {
  const auto text = readable_text(20'000);
  auto packing = client(Packing::always), plain = client(Packing::never);
  EXPECT_EQ(packing.request("GET", "/text").value().body, text);
  EXPECT_LT(packing.traffic().received, text.size() / 2);
  EXPECT_EQ(plain.request("GET", "/text").value().body, text);
  EXPECT_GT(plain.traffic().received, text.size());
  std::string streamed;
  auto sink = [&](std::string_view piece) -> base::Result<void> { return streamed += piece, base::Result<void>(); };
  const auto before = packing.traffic().received;
  ASSERT_TRUE(packing.download("/stream", sink));
  std::string expected;
  for (int i = 0; i < 10; ++i) expected += readable_text(2'000);
  EXPECT_EQ(streamed, expected);
  EXPECT_LT(packing.traffic().received - before, expected.size() / 2);
}

TEST_F(PackingTest, NothingIsPackedOnThisMachineUnlessToldTo) {
  auto text = readable_text(20'000);
  auto near = client(Packing::automatic);
  EXPECT_EQ(near.request("POST", "/echo", text, "text/plain").value().body, text);
  EXPECT_EQ(seen_encoding_, "none");
  EXPECT_EQ(near.request("GET", "/text").value().headers.count("content-encoding"), 0u);
  HttpClient over_socket({.url = server_.unix_url()});
  const Headers asks{{"accept-encoding", "zstd"}};
  EXPECT_EQ(over_socket.request("GET", "/text", {}, "", asks).value().headers.count("content-encoding"), 0u);
  for (const auto* url : {"unix:///a.sock", "http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"})
    EXPECT_TRUE(Url::parse(url)->is_on_this_machine()) << url;
  for (const auto* url : {"https://gpu.example:8443", "http://10.0.0.1:1", "https://[2001:db8::1]:1"})
    EXPECT_FALSE(Url::parse(url)->is_on_this_machine()) << url;
}

TEST_F(PackingTest, OnlyWhatMayBePackedIsAndOnlyForThoseWhoAccept) {
  auto plain = client(Packing::never);
  auto encoding = [&](std::string_view path, const std::string& accepts) {
    auto answer = plain.request("GET", path, {}, "", {{"accept-encoding", accepts}}).value();
    return answer.headers.contains("content-encoding") ? answer.headers.at("content-encoding") : "none";
  };
  EXPECT_EQ(encoding("/text", "gzip, deflate, br, zstd"), "zstd");
  EXPECT_EQ(encoding("/text", "ZSTD;q=0.5, *"), "zstd");
  EXPECT_EQ(encoding("/text", "zstd;q=0"), "none");
  EXPECT_EQ(encoding("/text", "zstd;q=0.0, gzip"), "none");
  EXPECT_EQ(encoding("/text", "gzip"), "none");
  EXPECT_EQ(encoding("/plain", "zstd"), "none");
  EXPECT_EQ(plain.request("GET", "/text").value().headers.at("vary"), "accept-encoding");
}

TEST(ZstdDecoder, RefusesDamageALargeWindowAndKnowsAnUnfinishedFrame) {
  auto drop = [](std::string_view) { return base::Result<void>(); };
  std::string packed;
  ZstdEncoder().put(readable_text(10'000), ZstdEncoder::After::end, packed);
  ZstdDecoder cut;
  ASSERT_TRUE(cut.put(packed.substr(0, packed.size() / 2), drop));
  EXPECT_FALSE(cut.is_complete());
  ASSERT_TRUE(cut.put(packed.substr(packed.size() / 2), drop));
  EXPECT_TRUE(cut.is_complete());
  EXPECT_EQ(ZstdDecoder().put("not zstd at all", drop).error().code(), base::Code::corrupt);
  // A frame that wants 128 MiB of memory.
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, 27);
  std::string wide(1 << 20, '\0');
  ZSTD_inBuffer input{"x", 1, 0};
  ZSTD_outBuffer output{wide.data(), wide.size(), 0};
  ZSTD_compressStream2(context.get(), &output, &input, ZSTD_e_flush);
  EXPECT_EQ(ZstdDecoder().put(std::string_view(wide).substr(0, output.pos), drop).error().code(), base::Code::corrupt);
}

TEST(ZstdDecoder, ABombEndsAtTheLimitOfWhoeverTakesItsBytes) {
  std::string bomb;
  ZstdEncoder encoder;
  const std::string zeros(1 << 20, '\0');
  for (int i = 0; i < 256; ++i) encoder.put(zeros, ZstdEncoder::After::more, bomb);
  encoder.put({}, ZstdEncoder::After::end, bomb);
  ASSERT_LT(bomb.size(), 100'000u);
  std::size_t taken = 0;
  auto limited = [&](std::string_view bytes) -> base::Result<void> {
    if ((taken += bytes.size()) > 1 << 20) return base::fail(base::Code::too_large, "enough");
    return {};
  };
  EXPECT_EQ(ZstdDecoder().put(bomb, limited).error().code(), base::Code::too_large);
  EXPECT_LE(taken, (1u << 20) + 64 * 1024);
}

}  // namespace
}  // namespace lathe::net

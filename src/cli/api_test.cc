// The client's side of the API against a server that breaks off, comes back, and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>

#include "cli/blob_upload.h"
#include "cli/exit_codes.h"
#include "cli/fake_api.h"
#include "cli/run_watch.h"
#include "cli/runs_watch.h"

namespace lathe::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const RunPlace kRun{.id = "r", .path = "/api/v1/workspaces/w/runs/r", .events = "/api/v1/workspaces/w/events"};

TEST(ApiClient, AnErrorOfTheServerKeepsItsCodeAndHint) {
  FakeApi server([](const FakeRequest&) {
    return FakeApi::json(R"({"code":"conflict","message":"other content","hint":"take another id","field":"id"})",
                         "409 Conflict");
  });
  ApiClient api(server.locate());
  auto answer = api.get("/api/v1/server");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), base::Code::conflict);
  EXPECT_EQ(answer.error().hint(), "take another id");
  EXPECT_EQ(server.journal().size(), 1u);
}

TEST(ApiClient, AServerThatNeverAnsweredIsAnErrorAtOnce) {
  ApiClient api([] {
    net::ClientConfig config;
    config.url = "unix:///nonexistent/api.sock";
    return base::Result<net::ClientConfig>(config);
  });
  auto begun = std::chrono::steady_clock::now();
  auto answer = api.get("/healthz");
  ASSERT_FALSE(answer);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

TEST(ApiClient, ARequestIsRepeatedWhenTheServerWentAwayInBetween) {
  std::atomic<int> count = 0;
  FakeApi server([&](const FakeRequest&) { return ++count == 2 ? "" : FakeApi::json("{}"); });
  ApiClient api(server.locate());
  ASSERT_TRUE(api.get("/one"));
  auto answer = api.send("POST", "/two", R"({"id":"r"})");
  ASSERT_TRUE(answer) << answer.error().text();
  auto journal = server.journal();
  ASSERT_EQ(journal.size(), 3u);
  EXPECT_EQ(journal[1].body, journal[2].body);
}

TEST(FollowLog, GoesOnAtTheByteWhereTheConnectionBroke) {
  std::atomic<bool> over = false;
  FakeApi server([&](const FakeRequest& request) -> std::string {
    if (request.target == kRun.path)
      return FakeApi::json(fmt::format(R"({{"status":"{}","attempt":1,"log":"azureml-logs/70_driver_log.txt"}})",
                                       over ? "Completed" : "Running"));
    if (request.target.find("offset=0&") != std::string::npos) return FakeApi::chunked("hello ", false);
    over = true;
    return FakeApi::chunked("world");
  });
  ApiClient api(server.locate());
  std::string got;
  auto followed = follow_log(api, kRun, {}, [&](std::string_view bytes) { got += bytes; });
  ASSERT_TRUE(followed) << followed.error().text();
  EXPECT_EQ(got, "hello world");
  EXPECT_TRUE(server.saw(kRun.path + "/logs?follow=true&offset=6&name=azureml-logs"));
}

TEST(FollowLog, ShowsTheNextAttemptFromItsBeginning) {
  std::atomic<int> attempt = 1;
  FakeApi server([&](const FakeRequest& request) -> std::string {
    if (request.target == kRun.path)
      return FakeApi::json(fmt::format(R"({{"status":"{}","attempt":{},"log":"l"}})",
                                       attempt == 2 ? "Failed" : "Running", attempt.load()));
    bool second = request.target.find("attempt=2") != std::string::npos;
    attempt = 2;
    return FakeApi::chunked(second ? "second\n" : "first\n");
  });
  ApiClient api(server.locate());
  std::string got;
  ASSERT_TRUE(follow_log(api, kRun, {}, [&](std::string_view bytes) { got += bytes; }));
  EXPECT_EQ(got, "first\nsecond\n");
}

TEST(WatchRun, TellsEachMoveOnceAcrossABrokenStream) {
  std::atomic<int> streams = 0;
  FakeApi server([&](const FakeRequest& request) -> std::string {
    if (request.target.starts_with(kRun.path + "/events"))
      return FakeApi::json(R"({"items":[{"id":3,"kind":"state","from":"Queued","to":"Running","reason":""},
                                        {"id":1,"kind":"state","from":"NotStarted","to":"Queued","reason":"submitted"},
                                        {"id":2,"kind":"tags","from":null,"to":null,"reason":""}],"next":null})");
    std::string other = "id: 4\ndata: {\"id\":4,\"run_id\":\"other\",\"from\":\"Running\",\"to\":\"Failed\"}\n\n";
    std::string move = "id: 5\ndata: {\"id\":5,\"run_id\":\"r\",\"from\":\"Running\",\"to\":\"Finalizing\"}\n\n";
    std::string last = "id: 6\ndata: {\"id\":6,\"run_id\":\"r\",\"from\":\"Finalizing\",\"to\":\"Completed\"}\n\n";
    return ++streams == 1 ? FakeApi::chunked(other + move, false) : FakeApi::chunked(move + last);
  });
  ApiClient api(server.locate());
  std::vector<std::string> moves;
  auto status = watch_run(api, kRun, [&](const RunMove& move) { moves.push_back(move.to); });
  ASSERT_TRUE(status) << status.error().text();
  EXPECT_EQ(*status, "Completed");
  EXPECT_THAT(moves, ElementsAre("Queued", "Running", "Finalizing", "Completed"));
  EXPECT_TRUE(server.saw(kRun.events + "?after=5"));
}

TEST(WatchRun, AnInterruptBreaksTheWaitAndIsNotRetried) {
  std::mutex held;
  held.lock();
  FakeApi server([&](const FakeRequest& request) -> std::string {
    if (request.target.starts_with(kRun.path)) return FakeApi::json(R"({"items":[],"next":null})");
    std::lock_guard wait(held);
    return "";
  });
  ApiClient api(server.locate());
  std::thread other([&] {
    EXPECT_TRUE(server.saw(kRun.events));
    api.interrupt();
  });
  auto status = watch_run(api, kRun, [](const RunMove&) {});
  held.unlock();
  other.join();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), base::Code::cancelled);
}

RunPlace place_of(const std::string& id) { return {.id = id, .path = "/w/runs/" + id, .events = "/w/events"}; }

std::string event(int id, const std::string& run, const std::string& to) {
  auto data = fmt::format(R"({{"id":{},"run_id":"{}","from":"Running","to":"{}"}})", id, run, to);
  return fmt::format("id: {}\ndata: {}\n\n", id, data);
}

std::string past(int id, const std::string& to) {
  auto item = fmt::format(R"({{"id":{},"kind":"state","from":"Queued","to":"{}","reason":""}})", id, to);
  return FakeApi::json(fmt::format(R"({{"items":[{}],"next":null}})", item));
}

constexpr std::string_view kNoRun = R"({"code":"not-found","message":"no such run","hint":"look"})";

// A server with three runs: `done` is over already, the others move on the stream, which breaks in between.
struct WatchRunsTest : testing::Test {
  std::atomic<int> streams = 0;
  FakeApi server{[this](const FakeRequest& request) -> std::string {
    if (request.target.starts_with("/w/runs/done/")) return past(1, "Completed");
    if (request.target.starts_with("/w/runs/missing/")) return FakeApi::json(kNoRun, "404 Not Found");
    if (request.target.starts_with("/w/runs/")) return past(2, "Running");
    const std::string hello = ": hello\n\n";
    return ++streams == 1 ? FakeApi::chunked(hello + event(5, "b", "Canceled") + event(6, "other", "Failed"), false)
                          : FakeApi::chunked(hello + event(7, "a", "Failed"));
  }};
  ApiClient api{server.locate()}, lookup{server.locate()};
  std::vector<std::string> moves;

  base::Result<std::vector<std::string>> watch(const std::vector<RunPlace>& runs, WaitFor wait_for) {
    return watch_runs(api, lookup, runs, wait_for,
                      [this](const RunPlace& run, const RunMove& move) { moves.push_back(run.id + " " + move.to); });
  }
};

TEST_F(WatchRunsTest, WaitsForAllOverOneStreamAndTellsEachMoveOnce) {
  auto statuses = watch({place_of("a"), place_of("b"), place_of("done")}, WaitFor::all);
  ASSERT_TRUE(statuses) << statuses.error().text();
  EXPECT_THAT(*statuses, ElementsAre("Failed", "Canceled", "Completed"));
  EXPECT_THAT(moves, ElementsAre("a Running", "b Running", "done Completed", "b Canceled", "a Failed"));
  EXPECT_EQ(streams, 2);
}

TEST_F(WatchRunsTest, AnyIsContentWithTheFirstThatIsOver) {
  auto statuses = watch({place_of("a"), place_of("done"), place_of("b")}, WaitFor::any);
  ASSERT_TRUE(statuses) << statuses.error().text();
  EXPECT_THAT(*statuses, ElementsAre("", "Completed", ""));
}

TEST_F(WatchRunsTest, ARunThatIsNotThereIsToldAtOnce) {
  auto statuses = watch({place_of("a"), place_of("missing")}, WaitFor::all);
  ASSERT_FALSE(statuses);
  EXPECT_EQ(statuses.error().code(), base::Code::not_found);
}

TEST(WatchRuns, AServerThatIsAwayIsToldAtOnce) {
  ApiClient api([] { return base::Result<net::ClientConfig>(base::fail(base::Code::unavailable, "nobody is there")); });
  const std::vector runs{place_of("a")};
  auto statuses = watch_runs(api, api, runs, WaitFor::all, [](const RunPlace&, const RunMove&) {});
  ASSERT_FALSE(statuses);
  EXPECT_EQ(statuses.error().code(), base::Code::unavailable);
}

TEST(WatchRuns, TheWorstEndDecides) {
  EXPECT_EQ(exit_for_runs(std::vector<std::string>{"Completed", "Completed"}), 0);
  EXPECT_EQ(exit_for_runs(std::vector<std::string>{"Canceled", "Completed", ""}), kExitRunCanceled);
  EXPECT_EQ(exit_for_runs(std::vector<std::string>{"Canceled", "Failed"}), kExitRunFailed);
}

// A blob's bytes as an open file that lives in memory.
cas::BlobFile in_memory(std::string_view text) {
  int fd = ::memfd_create("blob", MFD_CLOEXEC);
  EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return {fd, text.size()};
}

TEST(UploadBlobs, SendsOnlyWhatIsMissingAndAsksAgainAfterABreak) {
  std::string have = "already there", lack = "new bytes";
  std::atomic<int> packs = 0;
  FakeApi server([&](const FakeRequest& request) -> std::string {
    if (request.target == "/api/v1/blobs/missing")
      return FakeApi::json(fmt::format(R"({{"missing":["{}"],"partial":{{}}}})", base::sha256(lack).hex()));
    return ++packs == 1 ? "" : FakeApi::json(R"({"stored":1,"bytes":9})");
  });
  ApiClient api(server.locate());
  std::vector<cas::BlobInfo> blobs{{base::sha256(have), have.size()}, {base::sha256(lack), lack.size()}};
  auto sent = upload_blobs(api, blobs, [&](const cas::BlobInfo& blob) -> base::Result<cas::BlobFile> {
    EXPECT_EQ(blob.digest, base::sha256(lack));
    return in_memory(lack);
  });
  ASSERT_TRUE(sent) << sent.error().text();
  EXPECT_EQ(sent->sent_blobs, 1u);
  EXPECT_EQ(sent->sent_bytes, lack.size());
  EXPECT_THAT(server.journal().back().body, HasSubstr(lack));
  EXPECT_EQ(server.journal().size(), 4u);
}

TEST(UploadBlobs, WaitsForAnotherConnectionThatSendsTheSameBlob) {
  const std::string bytes = "shared";
  std::atomic<int> asked = 0, sent_packs = 0;
  FakeApi server([&](const FakeRequest& request) -> std::string {
    if (request.target == "/api/v1/blobs/missing") {
      int time = ++asked;
      if (time > 30) return FakeApi::json(R"({"missing":[],"partial":{}})");  // the other one is through
      auto hex = base::sha256(bytes).hex();
      return FakeApi::json(fmt::format(R"({{"missing":["{}"],"partial":{{"{}":{}}}}})", hex, hex, time));
    }
    ++sent_packs;
    return FakeApi::json(R"({"code":"unavailable","message":"being uploaded by another connection"})",
                         "503 Service Unavailable");
  });
  ApiClient api(server.locate());
  auto sent = upload_blobs(api, {{base::sha256(bytes), bytes.size()}},
                           [&](const cas::BlobInfo&) -> base::Result<cas::BlobFile> { return in_memory(bytes); });
  ASSERT_TRUE(sent) << sent.error().text();
  EXPECT_EQ(sent->sent_blobs, 0u);
  EXPECT_EQ(sent_packs, 30);
}

TEST(ApiPath, EncodesEveryPart) { EXPECT_EQ(api_path({"runs", "a/b c"}), "/api/v1/runs/a%2Fb%20c"); }

}  // namespace
}  // namespace lathe::cli

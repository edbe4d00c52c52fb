#include "server/live_logs.h"

#include <fstream>

#include "db/experiments.h"
#include "db/logs.h"
#include "db/runs.h"
#include "db/workspaces.h"
#include "server/test_support.h"

namespace lathe::server {
namespace {

using base::Code;
using base::Error;
using rt::Task;

// A log of one attempt over a real database and store, as the server has them.
class LiveLogsTest : public ::testing::Test {
 public:
  LiveLogsTest() {
    run_on(loop_, [](LiveLogsTest& self) -> Task<void> {
      self.stream_.task.run_sequence = co_await self.database_->write([](db::Connection& connection) {
        db::workspaces::insert_if_absent(connection, {"w", "s", "g", {}});
        db::experiments::ensure(connection, "w", "e", {});
        model::RunRecord run;
        run.id = {"r"};
        run.workspace = "w";
        run.spec.experiment = "e";
        run.generation = 1;
        db::runs::insert(connection, run);
        return run.sequence;
      });
    }(*this));
    logs_->attempt_started(stream_.task.run_sequence, 1);
  }
  ~LiveLogsTest() override {
    pool_.stop();
    database_->stop();
  }

  std::uint64_t append(int segment, std::uint64_t offset, std::string bytes) {
    std::uint64_t size = 0;
    run_on(loop_,
           [](LiveLogsTest& self, int number, std::uint64_t at, std::string text, std::uint64_t& out) -> Task<void> {
             out = co_await self.logs_->append(self.stream_, number, at, text);
           }(*this, segment, offset, std::move(bytes), size));
    return size;
  }
  void seal(int segment, std::uint64_t size) { run_on(loop_, logs_->seal(stream_, segment, size)); }
  std::string read(std::uint64_t offset) {
    Collector out;
    run_on(loop_, logs_->copy(stream_, {.offset = offset, .length = UINT64_MAX}, false, {}, out));
    return out.text;
  }
  // As a server that was killed and started again.
  void restart() {
    logs_.emplace(folder_ / "live", loop_, pool_, *store_, *database_);
    logs_->attempt_started(stream_.task.run_sequence, 1);
  }

  TempFolder folder_;
  rt::Loop loop_;
  rt::BlockingPool pool_{"files", 2, 64};
  std::unique_ptr<db::Database> database_ = base::value_or_throw(db::Database::open(folder_ / "lathe.db", loop_));
  std::unique_ptr<cas::DiskStore> store_ = base::value_or_throw(cas::DiskStore::open(folder_ / "store"));
  std::optional<LiveLogs> logs_{std::in_place, folder_ / "live", loop_, pool_, *store_, *database_};
  LogStream stream_{{0, 1, 0}, "azureml-logs/70_driver_log.txt"};
};

TEST_F(LiveLogsTest, ReadsFromAnyOffsetAcrossSealedAndOpenSegments) {
  EXPECT_EQ(append(0, 0, "hello "), 6u);
  seal(0, 6);
  EXPECT_EQ(append(1, 0, "world"), 5u);
  EXPECT_EQ(read(0), "hello world");
  EXPECT_EQ(read(4), "o world");
  EXPECT_EQ(read(6), "world");
  EXPECT_EQ(read(11), "");
}

TEST_F(LiveLogsTest, TheSameBytesTwiceAreThereOnce) {
  append(0, 0, "abc");
  EXPECT_EQ(append(0, 0, "abc"), 3u);
  EXPECT_EQ(append(0, 1, "bcde"), 5u);
  EXPECT_EQ(read(0), "abcde");
  seal(0, 5);
  seal(0, 5);
  EXPECT_EQ(append(0, 0, "abcde"), 5u);
  EXPECT_EQ(read(0), "abcde");
}

TEST_F(LiveLogsTest, AHoleIsRefused) {
  append(0, 0, "abc");
  for (auto [segment, offset] : {std::pair{0, 4}, {1, 0}, {2, 0}}) {
    try {
      append(segment, static_cast<std::uint64_t>(offset), "x");
      FAIL() << "segment " << segment << " at " << offset;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::conflict);
    }
  }
  EXPECT_EQ(read(0), "abc");
}

TEST_F(LiveLogsTest, GoesOnWhereItWasAfterARestart) {
  append(0, 0, "sealed");
  seal(0, 6);
  append(1, 0, "open");
  restart();
  LogPosition position;
  run_on(loop_, [](LiveLogs& logs, LogStream stream, LogPosition& out) -> Task<void> {
    out = co_await logs.position(stream);
  }(*logs_, stream_, position));
  EXPECT_EQ(position.segment, 1);
  EXPECT_EQ(position.size, 4u);
  EXPECT_EQ(append(1, 4, "ed"), 6u);
  EXPECT_EQ(read(0), "sealedopened");
}

TEST_F(LiveLogsTest, ALinkedSegmentGrowsWithoutBeingSent) {
  auto spool = folder_ / "log.0";
  std::ofstream(spool) << "first";
  auto link = [&](std::uint64_t size) {
    run_on(loop_, [](LiveLogsTest& self, std::uint64_t bytes, std::filesystem::path source) -> Task<void> {
      co_await self.logs_->link(self.stream_, 0, bytes, source);
    }(*this, size, spool));
  };
  link(5);
  EXPECT_EQ(read(0), "first");
  std::ofstream(spool, std::ios::app) << " second";
  link(12);
  EXPECT_EQ(read(0), "first second");
  seal(0, 12);
  EXPECT_EQ(read(6), "second");
  EXPECT_EQ(std::filesystem::hard_link_count(spool), 2u) << "the spool's file and the blob are one";
}

TEST_F(LiveLogsTest, BytesThatCameByRequestStayWhenALinkIsOffered) {
  append(0, 0, "came by request");
  auto spool = folder_ / "log.0";
  std::ofstream(spool) << "came by request, and more";
  EXPECT_THROW(run_on(loop_,
                      [](LiveLogsTest& self, std::filesystem::path source) -> Task<void> {
                        co_await self.logs_->link(self.stream_, 0, 25, source);
                      }(*this, spool)),
               Error);
  EXPECT_EQ(append(0, 15, ", and more"), 25u);
  EXPECT_EQ(read(0), "came by request, and more");
}

TEST_F(LiveLogsTest, ALateRequestOfAnEndedAttemptIsFenced) {
  append(0, 0, "all there is");
  run_on(loop_, logs_->seal_rest(stream_));
  run_on(loop_, logs_->attempt_ended(stream_.task.run_sequence, 1));
  try {
    append(1, 0, "too late");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::fenced);
  }
  EXPECT_EQ(read(0), "all there is");
}

TEST_F(LiveLogsTest, AFileThatCannotBeLinkedIsSaidToBeUnsupported) {
  try {
    run_on(loop_, [](LiveLogsTest& self) -> Task<void> {
      co_await self.logs_->link(self.stream_, 0, 5, self.folder_ / "nothing here");
    }(*this));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
  }
  EXPECT_EQ(append(0, 0, "bytes"), 5u);
}

TEST_F(LiveLogsTest, AFollowerSeesWhatComesAndTheEnd) {
  Collector out;
  run_on(loop_, [](LiveLogsTest& self, Collector& collected) -> Task<void> {
    rt::Scope scope;
    scope.spawn("follower", self.logs_->copy(self.stream_, {}, true, {}, collected));
    co_await self.logs_->append(self.stream_, 0, 0, "one ");
    co_await self.logs_->append(self.stream_, 0, 4, "two ");
    co_await self.logs_->seal(self.stream_, 0, 8);
    co_await self.logs_->append(self.stream_, 1, 0, "three");
    co_await self.logs_->seal_rest(self.stream_);
    co_await self.logs_->attempt_ended(self.stream_.task.run_sequence, 1);
    co_await scope.join();
  }(*this, out));
  EXPECT_EQ(out.text, "one two three");
  EXPECT_EQ(read(4), "two three") << "a finished log is read from the store";
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "live" / fmt::format("{}.1", stream_.task.run_sequence)));
}

}  // namespace
}  // namespace lathe::server

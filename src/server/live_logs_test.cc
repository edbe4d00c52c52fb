#include "server/live_logs.h"

#include <sys/mount.h>

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

// A segment becomes the blob itself only where nobody can write to it, and no sync of it can have failed unseen.
TEST_F(LiveLogsTest, WhatMayHaveFailedOrMayStillBeWrittenIsCopied) {
  auto spool = [&](int segment) { return folder_ / fmt::format("log.{}", segment); };
  auto link = [&](int segment) {
    std::ofstream(spool(segment)) << "line\n" << segment;
    run_on(loop_, [](LiveLogsTest& self, int number, std::filesystem::path source) -> Task<void> {
      co_await self.logs_->link(self.stream_, number, 6, source);
    }(*this, segment, spool(segment)));
  };
  link(0);
  restart();  // the server before this one may have ended because the disk refused this very file
  link(0);
  seal(0, 6);
  EXPECT_EQ(std::filesystem::hard_link_count(spool(0)), 1u);
  link(1);
  append(1, 0, "line\n1");  // the runner links no more: its own sync has failed
  seal(1, 6);
  EXPECT_EQ(std::filesystem::hard_link_count(spool(1)), 1u);
  link(2);
  run_on(loop_, logs_->seal_rest(stream_));  // the runner is lost, and may write all the same
  EXPECT_EQ(std::filesystem::hard_link_count(spool(2)), 1u);
  std::ofstream(spool(2), std::ios::app) << "more";
  EXPECT_EQ(read(0), "line\n0line\n1line\n2");
}

TEST_F(LiveLogsTest, ASegmentGrowsNoLongerThanItsOrderSays) {
  logs_->limit_segments(stream_.task.run_sequence, 1, 8);
  append(0, 0, "12345678");
  EXPECT_THROW(append(0, 8, "9"), Error);
  EXPECT_EQ(read(0), "12345678");
  seal(0, 8);
  EXPECT_EQ(append(1, 0, "9"), 1u);
}

TEST_F(LiveLogsTest, AFileOfTheRunnerIsNeverAppendedTo) {
  auto spool = folder_ / "log.0";
  std::ofstream(spool) << "linked";
  run_on(loop_, [](LiveLogsTest& self, std::filesystem::path source) -> Task<void> {
    co_await self.logs_->link(self.stream_, 0, 6, source);
  }(*this, spool));
  EXPECT_EQ(append(0, 6, ", sent"), 12u);
  EXPECT_EQ(std::filesystem::file_size(spool), 6u);
  EXPECT_EQ(read(0), "linked, sent");
}

// The disk refuses to keep the log; with the second sync it would say that all is well.
TEST_F(LiveLogsTest, AfterASyncThatFailedNothingIsSealed) {
  class RefusingDisk final : public sys::FileSystem {
   public:
    bool refuses = false;
    base::Result<sys::File> create(const std::string& path, mode_t mode) override { return real_.create(path, mode); }
    base::Result<sys::File> open_or_create(const std::string& path, mode_t mode) override {
      return real_.open_or_create(path, mode);
    }
    base::Result<void> write(const sys::File& file, std::string_view bytes, std::uint64_t offset) override {
      return real_.write(file, bytes, offset);
    }
    base::Result<void> truncate(const sys::File& file, std::uint64_t size) override {
      return real_.truncate(file, size);
    }
    base::Result<void> link(int fd, const std::string& to) override { return real_.link(fd, to); }
    base::Result<void> rename(const std::string& from, const std::string& to) override {
      return real_.rename(from, to);
    }
    base::Result<void> remove(const std::string& path) override { return real_.remove(path); }
    base::Result<void> make_directory(const std::string& path, mode_t mode) override {
      return real_.make_directory(path, mode);
    }
    base::Result<void> sync_file(const std::string& path) override {
      if (std::exchange(refuses, false)) return base::fail(base::errno_error(EIO, path));
      return real_.sync_file(path);
    }
    base::Result<void> sync_directory(const std::string& path) override { return real_.sync_directory(path); }
    base::Result<void> sync_everything(const std::string& path) override { return real_.sync_everything(path); }

   private:
    sys::FileSystem& real_ = sys::linux_file_system();
  };
  RefusingDisk disk;
  auto store = base::value_or_throw(cas::DiskStore::open(folder_ / "other", disk));
  int told = 0;
  store->on_disk_failure([&](const Error&) { ++told; });
  logs_.emplace(folder_ / "live", loop_, pool_, *store, *database_);
  logs_->attempt_started(stream_.task.run_sequence, 1);
  append(0, 0, "lines\n");
  disk.refuses = true;
  for (int again = 0; again < 2; ++again) EXPECT_THROW(seal(0, 6), Error) << "try " << again;
  EXPECT_EQ(told, 1);
  EXPECT_EQ(read(0), "lines\n");
  logs_.reset();
}

TEST_F(LiveLogsTest, ADiskWithoutRoomForItsFolderIsToldToBeFull) {
  const auto small = folder_ / "small";
  std::filesystem::create_directory(small);
  if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "nr_inodes=1") != 0) GTEST_SKIP() << "mounting needs root";
  logs_.emplace(small / "live", loop_, pool_, *store_, *database_);
  logs_->attempt_started(stream_.task.run_sequence, 1);
  auto code = Code::internal;
  try {
    append(0, 0, "line");
  } catch (const Error& error) {
    code = error.code();
  }
  EXPECT_EQ(code, Code::no_space);
  ::umount(small.c_str());
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

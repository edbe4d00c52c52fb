#include "runner/spool_sync.h"

#include <gtest/gtest.h>

#include "runner/log_shipper.h"
#include "runner/runner_fixture.h"
#include "sys/file_system_faulty.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

class SpoolSyncTest : public RunnerTest {
 protected:
  SpoolSyncTest() {
    fs::create_directories(work_);
    spool_.emplace(Spool::create(work_, {.run = "run-1", .attempt = 1, .node = 0, .token = "t"}, disk_).value());
    EXPECT_TRUE(spool_->write_order(order_));
    log_.emplace(spool_->folder(), 4096);
    sync_.emplace(*spool_, *log_, segments_, disk_);
  }
  // What was synced since, by its path below the root.
  std::vector<std::string> synced() {
    auto journal = disk_.journal();
    std::vector<std::string> out(journal.begin() + static_cast<std::ptrdiff_t>(seen_), journal.end());
    seen_ = journal.size();
    return out;
  }

  sys::FaultyFileSystem disk_{root_};
  std::optional<Spool> spool_;
  std::optional<LogSpool> log_;
  SegmentSync segments_;
  std::optional<SpoolSync> sync_;
  std::size_t seen_ = 0;
};

TEST_F(SpoolSyncTest, BringsTheStartOnceAndTheLogWheneverItHasGrown) {
  log_->add_line("one");
  sync_->sync();
  EXPECT_EQ(synced(), (std::vector<std::string>{"sync work/spool/spool.json", "sync work/spool/order.json",
                                                "sync-folder work/spool", "sync-folder work", "sync-folder ",
                                                "sync work/spool/log.0", "sync-folder work/spool"}));
  sync_->sync();
  EXPECT_TRUE(synced().empty());
  log_->add_line("two");
  EXPECT_TRUE(sync_->is_behind());
  sync_->sync();
  EXPECT_EQ(synced(), (std::vector<std::string>{"sync work/spool/log.0"}));
  log_->hand_over();
  log_->add_line("three");
  sync_->sync();
  EXPECT_EQ(synced(), (std::vector<std::string>{"sync work/spool/log.1", "sync work/spool/log.0",
                                                "sync-folder work/spool"}));
}

TEST_F(SpoolSyncTest, ASegmentThatIsBeingSealedIsLeftToTheServer) {
  log_->add_line("one");
  sync_->sync();
  synced();
  log_->add_line("two");
  {
    SegmentSync::Sealing sealing(segments_, 0);
    sync_->sync();
    EXPECT_TRUE(synced().empty());
    EXPECT_TRUE(sync_->is_behind()) << "a server that goes away over it leaves it unsynced";
  }
  sync_->sync();
  EXPECT_FALSE(sync_->is_behind());
}

TEST_F(SpoolSyncTest, AfterAFailedSyncTheLogIsSentInsteadOfLinked) {
  LogShipper shipper(*log_, order_.log_name, segments_);
  FakeLink link(server_, spool_->folder());
  log_->add_line("one");
  ASSERT_TRUE(shipper.ship(link, false));
  EXPECT_EQ(1, server_.count("link_log"));
  disk_.fail_call(6, EIO);  // the log; the start comes first
  sync_->sync();
  log_->add_line("two");
  log_->hand_over();
  while (shipper.has_more(true)) ASSERT_TRUE(shipper.ship(link, true));
  EXPECT_EQ(1, server_.count("link_log")) << "no server may take a file for kept whose bytes the disk has refused";
  EXPECT_EQ("one\ntwo\n", server_.log());
  EXPECT_EQ(1u, server_.sealed());
}

TEST_F(SpoolSyncTest, WhatARunLeavesIsSyncedBeforeItsRecord) {
  EXPECT_TRUE(sync_->sync_results({"outputs", "logs"}));
  EXPECT_TRUE(synced().empty()) << "a run that leaves nothing pays nothing";
  fs::create_directories(work_ / "run/outputs/deep");
  std::ofstream(work_ / "run/outputs/deep/x") << "out";
  std::ofstream(work_ / "run/not-kept") << "scratch";
  fs::create_symlink("/etc/passwd", work_ / "run/outputs/link");
  EXPECT_TRUE(sync_->sync_results({"outputs", "logs"}));
  EXPECT_EQ(synced(), (std::vector<std::string>{"sync work/run/outputs/deep/x", "sync-folder work/run/outputs",
                                                "sync-folder work/run/outputs/deep"}));
  disk_.fail_call(1, EIO);
  EXPECT_FALSE(sync_->sync_results({"outputs", "logs"}));
}

TEST_F(SpoolSyncTest, TheThreadSyncsWhatComesWithoutBeingAsked) {
  SyncThread thread(*sync_);
  log_->add_line("one");
  thread.nudge();
  EXPECT_TRUE(eventually([&] {
    auto journal = disk_.journal();
    return std::ranges::find(journal, "sync work/spool/log.0") != journal.end();
  }));
}

}  // namespace
}  // namespace lathe::runner

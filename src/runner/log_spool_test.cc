#include "runner/log_spool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "sys/process.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

class LogSpoolTest : public testing::Test {
 protected:
  LogSpoolTest() {
    std::string name = fs::temp_directory_path() / "lathe-log.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~LogSpoolTest() override { fs::remove_all(folder_); }

  // A segment that the server has made a blob of: the same file under another name, read-only.
  void leave_sealed(int segment, const std::string& bytes) {
    leave(segment, bytes);
    fs::create_hard_link(path(segment), folder_ / fmt::format("blob.{}", segment));
    ::chmod(path(segment).c_str(), 0444);
  }
  void leave(int segment, const std::string& bytes) { std::ofstream(path(segment), std::ios::binary) << bytes; }
  fs::path path(int segment) const { return folder_ / fmt::format("log.{}", segment); }
  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
};

TEST_F(LogSpoolTest, WhatAnotherWriterLeftIsNeverWrittenTo) {
  leave_sealed(0, "said\n");
  LogSpool log(folder_, 4096);
  ASSERT_TRUE(log.reopen(1));
  log.add_line("[lathe: not kept: x]");
  EXPECT_EQ("said\n", read(folder_ / "blob.0"));
  EXPECT_EQ("[lathe: not kept: x]\n", read(path(1)));
  EXPECT_EQ(1u, log.end().segment);
  EXPECT_EQ(2u, log.totals().segments);
  EXPECT_EQ(26u, log.totals().size);
}

TEST_F(LogSpoolTest, WhatIsLeftInThePipeJoinsTheLogInASegmentOfItsOwn) {
  leave_sealed(0, "said\n");
  auto pipe = sys::make_pipe().value();
  ASSERT_EQ(5, ::write(pipe.write.get(), "last\n", 5));
  pipe.write.reset();
  LogSpool(folder_, 4096).save_rest(pipe.read.get());
  EXPECT_EQ("said\n", read(folder_ / "blob.0"));
  EXPECT_EQ("last\n", read(path(1)));
}

TEST_F(LogSpoolTest, TheRunnerItselfWritesNoMoreIntoWhatItHandedOver) {
  LogSpool log(folder_, 4096);
  log.add_line("[lathe: one]");
  log.hand_over();
  log.add_line("[lathe: two]");
  EXPECT_EQ("[lathe: one]\n", read(path(0)));
  EXPECT_EQ("[lathe: two]\n", read(path(1)));
}

TEST_F(LogSpoolTest, ALineThatTheDeadRunnerAddedIsNotAddedAgain) {
  leave(0, "said\n[lathe: metrics not kept: a]\n");
  leave(1, "[lathe: not kept: x]\n[lathe: not kept: cut of");
  {
    LogSpool torn(folder_, 4096);
    ASSERT_TRUE(torn.reopen());
    torn.add_line("[lathe: not kept: x]");
    EXPECT_EQ("\n[lathe: not kept: x]\n", read(path(2))) << "behind a torn line nothing is known to be whole";
  }
  fs::remove(path(2));
  leave(1, "[lathe: not kept: x]\n");
  LogSpool log(folder_, 4096);
  ASSERT_TRUE(log.reopen());
  log.add_line("[lathe: metrics not kept: a]");
  log.add_line("[lathe: not kept: x]");
  EXPECT_FALSE(fs::exists(path(2)));
  log.add_line("[lathe: not kept: y]");
  EXPECT_EQ("[lathe: not kept: y]\n", read(path(2)));
  LogSpool all_sealed(folder_, 4096);
  ASSERT_TRUE(all_sealed.reopen(3));
  all_sealed.add_line("[lathe: not kept: y]");
  EXPECT_FALSE(fs::exists(path(3)));
}

TEST_F(LogSpoolTest, ALineOfOurOwnBeginsALine) {
  leave(0, "no line break");
  LogSpool log(folder_, 4096);
  ASSERT_TRUE(log.reopen());
  log.add_line("[lathe: x]");
  EXPECT_EQ("\n[lathe: x]\n", read(path(1)));
}

TEST_F(LogSpoolTest, SegmentsThatAPowerCutEmptiedLeaveNoGap) {
  leave(0, "a");
  leave(1, "");
  leave(3, "b");
  LogSpool log(folder_, 4096);
  ASSERT_TRUE(log.reopen());
  EXPECT_EQ("b", read(path(1)));
  EXPECT_EQ(1u, log.end().segment);
  EXPECT_EQ(2u, log.totals().size);
}

TEST_F(LogSpoolTest, SegmentsThatTheServerHasSealedKeepTheirNumbers) {
  leave(1, "");
  leave(2, "rest");
  LogSpool log(folder_, 4096);
  ASSERT_TRUE(log.reopen(2));
  EXPECT_EQ("rest", read(path(2)));
  EXPECT_EQ(2u, log.end().segment);
  LogSpool after(folder_, 4096);
  ASSERT_TRUE(after.reopen(3));
  EXPECT_EQ(3u, after.end().segment) << "the next byte is the first of the next segment";
  EXPECT_EQ(0u, after.end().offset);
}

}  // namespace
}  // namespace lathe::runner

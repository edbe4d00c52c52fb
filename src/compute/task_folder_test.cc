#include "compute/task_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>

#include "compute/lock_holder.h"
#include "sys/process_tree.h"

namespace lathe::compute {
namespace {

namespace fs = std::filesystem;
using Trace = Provider::Trace;

class TaskFolder : public testing::Test {
 protected:
  TaskFolder() {
    std::string name = fs::temp_directory_path() / "lathe-task.XXXXXX";
    root_ = ::mkdtemp(name.data());
    folder_ = root_ / "12.1.0";
  }
  ~TaskFolder() override { fs::remove_all(root_); }

  void write_header(std::string_view text) {
    fs::create_directories(folder_ / "spool");
    std::ofstream(folder_ / "spool" / "spool.json") << text;
  }
  sys::Fd lock_header() {
    sys::Fd fd(::open((folder_ / "spool" / "spool.json").c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(0, ::flock(fd.get(), LOCK_EX | LOCK_NB));
    return fd;
  }

  fs::path root_, folder_;
};

TEST_F(TaskFolder, ThatDoesNotExistHasNoTrace) { EXPECT_EQ(Trace::none, look_at_folder(folder_).trace); }

TEST_F(TaskFolder, IsStartingAsLongAsItsLockIsHeldAndThereIsNoSpool) {
  {
    auto lock = take_folder(folder_).value();
    EXPECT_EQ(Trace::starting, look_at_folder(folder_).trace);
  }
  EXPECT_EQ(Trace::none, look_at_folder(folder_).trace);
}

TEST_F(TaskFolder, TellsALiveRunnerByTheLockOnItsSpool) {
  auto lock = take_folder(folder_).value();
  write_header("{}\n");
  LockHolder runner(folder_ / "spool/spool.json", folder_);
  auto found = look_at_folder(folder_);
  EXPECT_EQ(Trace::alive, found.trace);
  EXPECT_EQ(fmt::format("{}:{}", runner.pid(), sys::process_start(runner.pid())), found.handle);
}

TEST_F(TaskFolder, DoesNotTakeAnotherProcessForItsRunner) {
  write_header("{}\n");
  LockHolder other(folder_ / "spool/spool.json", folder_.string() + "0");
  auto found = look_at_folder(folder_);
  EXPECT_EQ(Trace::starting, found.trace) << "to be looked at again, neither adopted nor killed";
  EXPECT_EQ("", found.handle);
}

TEST_F(TaskFolder, WithASpoolThatNobodyHoldsIsDead) {
  write_header("{}\n");
  EXPECT_EQ(Trace::dead, look_at_folder(folder_).trace);
}

TEST_F(TaskFolder, WithACutHeaderIsWrecked) {
  write_header("");
  EXPECT_EQ(Trace::wrecked, look_at_folder(folder_).trace);
  write_header("{\"format\":1");
  EXPECT_EQ(Trace::wrecked, look_at_folder(folder_).trace);
}

TEST_F(TaskFolder, IsTakenOnceAndEmptiedOfWhatADeadStartLeft) {
  fs::create_directories(folder_ / "run" / "outputs");
  auto lock = take_folder(folder_).value();
  EXPECT_TRUE(fs::is_empty(folder_));
  auto again = take_folder(folder_);
  ASSERT_FALSE(again);
  EXPECT_EQ(base::Code::conflict, again.error().code());
}

TEST_F(TaskFolder, WithASpoolIsNotTaken) {
  write_header("{}\n");
  ASSERT_FALSE(take_folder(folder_));
  EXPECT_TRUE(fs::exists(folder_ / "spool" / "spool.json"));
}

TEST_F(TaskFolder, IsClearedOnlyWhenNothingLivesInIt) {
  write_header("{}\n");
  {
    auto held = lock_header();
    clear_folder(folder_);
    EXPECT_TRUE(fs::exists(folder_));
  }
  clear_folder(folder_);
  EXPECT_FALSE(fs::exists(folder_));
  auto lock = take_folder(folder_).value();
  clear_folder(folder_);
  EXPECT_TRUE(fs::exists(folder_));
}

TEST(ParseTask, ReadsOnlyWhatTextWrites) {
  EXPECT_EQ("12.3.0", parse_task("12.3.0")->text());
  for (auto text : {"", "12.3", "12.3.0.1", "12.3.x", "012.3.0", "12.3.99999999999", "notes"})
    EXPECT_FALSE(parse_task(text)) << text;
}

}  // namespace
}  // namespace lathe::compute

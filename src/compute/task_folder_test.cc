#include "compute/task_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "compute/lock_holder.h"
#include "compute/spare_folders.h"
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

// No descriptor is free while this lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(TaskFolder, ThatCannotBeOpenedIsNotTakenForMissing) {
  write_header("{}\n");
  {
    NoDescriptors none;
    EXPECT_THROW(look_at_folder(folder_), base::Error);
    EXPECT_THROW(clear_folder(folder_), base::Error);
    auto taken = take_folder(folder_);
    ASSERT_FALSE(taken);
    EXPECT_EQ(base::Code::unavailable, taken.error().code()) << "a shortage: to be tried again";
  }
  EXPECT_EQ(Trace::dead, look_at_folder(folder_).trace);
}

TEST_F(TaskFolder, BelowWhatIsNoFolderIsAnErrorAndNotMissing) {
  std::ofstream(root_ / "file") << "x";
  EXPECT_THROW(look_at_folder(root_ / "file" / "12.1.0"), base::Error);
  write_header("{}\n");
  fs::remove_all(folder_ / "spool");
  std::ofstream(folder_ / "spool") << "a file in the place of the spool";
  EXPECT_THROW(look_at_folder(folder_), base::Error);
}

TEST_F(TaskFolder, ThatWasMovedAwayIsFoundByItsRunner) {
  write_header("{}\n");
  LockHolder runner(folder_ / "spool/spool.json", folder_);
  fs::rename(folder_, root_ / "away");
  auto found = look_at_folder(folder_);
  EXPECT_TRUE(found.is_locked);
  EXPECT_NE(Trace::none, found.trace) << "its runner lives";
  EXPECT_FALSE(clear_folder(folder_));
}

TEST_F(TaskFolder, SaysWhetherADeadRunnerHadItsOrder) {
  write_header("{}\n");
  EXPECT_FALSE(look_at_folder(folder_).has_order);
  std::ofstream(folder_ / "spool" / "order.json") << "{}";
  EXPECT_TRUE(look_at_folder(folder_).has_order);
}

TEST_F(TaskFolder, WithAnAdopterSaysThatItOnlyDelivers) {
  write_header("{}\n");
  EXPECT_FALSE(look_at_folder(folder_).only_delivers);
  LockHolder adopter(folder_ / "spool/spool.json", "--adopt", folder_);
  auto found = look_at_folder(folder_);
  EXPECT_EQ(Trace::alive, found.trace);
  EXPECT_TRUE(found.only_delivers);
}

TEST_F(TaskFolder, IsKeptWhenSomethingInItWasNotDelivered) {
  EXPECT_FALSE(keep_folder(folder_)) << "it does not exist";
  write_header("{}\n");
  fs::create_directories(folder_ / "run" / "outputs");
  EXPECT_FALSE(keep_folder(folder_)) << "nothing of the user's is in it";
  std::ofstream(folder_ / "run" / "outputs" / "checkpoint") << "x";
  EXPECT_TRUE(keep_folder(folder_));
  EXPECT_TRUE(clear_folder(folder_)) << "nothing lives in it";
  EXPECT_TRUE(fs::exists(folder_ / "run" / "outputs" / "checkpoint"));
}

TEST_F(TaskFolder, IsNotKeptWhenEverythingWasDelivered) {
  write_header("{}\n");
  std::ofstream(folder_ / "spool" / "log.0") << "line";
  std::ofstream(folder_ / "spool" / "delivered") << "x";
  EXPECT_FALSE(keep_folder(folder_));
  fs::remove(folder_ / "spool" / "delivered");
  EXPECT_TRUE(keep_folder(folder_)) << "a log that nobody has";
}

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

TEST_F(TaskFolder, IsTakenOnceAndBareOfWhatADeadStartLeft) {
  fs::create_directories(folder_ / "spool");
  std::ofstream(folder_ / "spool" / "spool.json.new") << "{";
  EXPECT_FALSE(is_bare(folder_));
  auto lock = take_folder(folder_).value();
  EXPECT_FALSE(fs::exists(folder_ / "spool" / "spool.json.new"));
  auto again = take_folder(folder_);
  ASSERT_FALSE(again);
  EXPECT_EQ(base::Code::conflict, again.error().code());
}

TEST_F(TaskFolder, IsSparedOnlyWhenBareAndGivenToTheNextTask) {
  SpareFolders spares(root_);
  fs::create_directories(folder_ / "run" / "outputs");
  write_header("{}\n");
  EXPECT_FALSE(spares.take(folder_)) << "a spool is in it";
  EXPECT_TRUE(fs::exists(folder_ / "spool" / "spool.json"));
  fs::remove(folder_ / "spool" / "spool.json");
  {
    auto runner = take_folder(folder_).value();
    EXPECT_FALSE(spares.take(folder_)) << "a runner is starting in it";
  }
  EXPECT_TRUE(spares.take(folder_));
  EXPECT_FALSE(fs::exists(folder_));
  spares.give(root_ / "13.1.0");
  EXPECT_TRUE(fs::exists(root_ / "13.1.0" / "run" / "outputs"));
  spares.give(root_ / "14.1.0");
  EXPECT_FALSE(fs::exists(root_ / "14.1.0")) << "there was one spare only";
}

TEST_F(TaskFolder, IsBareWithTheEmptyFilesOfASpoolOnly) {
  fs::create_directories(folder_ / "spool");
  for (auto name : {"spool.json.new", "order.json", "exit"}) std::ofstream(folder_ / "spool" / name);
  EXPECT_TRUE(is_bare(folder_));
  std::ofstream(folder_ / "spool" / "exit") << "x";
  EXPECT_FALSE(is_bare(folder_)) << "something is in a file";
  fs::resize_file(folder_ / "spool" / "exit", 0);
  fs::create_hard_link(folder_ / "spool" / "exit", root_ / "elsewhere");
  EXPECT_FALSE(is_bare(folder_)) << "somebody else has the file, too";
  fs::remove(root_ / "elsewhere");
  std::ofstream(folder_ / "spool" / "log.0");
  EXPECT_FALSE(is_bare(folder_)) << "a file that is not used again";
}

TEST_F(TaskFolder, ThatExistsGetsNoSpare) {
  SpareFolders spares(root_);
  fs::create_directories(folder_ / "spool");
  ASSERT_TRUE(spares.take(folder_));
  write_header("{}\n");
  spares.give(folder_);
  EXPECT_TRUE(fs::exists(folder_ / "spool" / "spool.json"));
  spares.give(root_ / "13.1.0");
  EXPECT_TRUE(fs::exists(root_ / "13.1.0")) << "the spare is still there";
}

TEST_F(TaskFolder, SparesOfAnEarlierServerAreUsed) {
  fs::create_directories(folder_ / "spool");
  ASSERT_TRUE(SpareFolders(root_).take(folder_));
  SpareFolders later(root_);
  later.give(folder_);
  EXPECT_TRUE(fs::exists(folder_));
}

TEST_F(TaskFolder, OnlySoManyAreSpared) {
  SpareFolders spares(root_);
  for (std::size_t i = 0; i <= SpareFolders::kMost; ++i) {
    fs::create_directories(folder_ / "spool");
    EXPECT_EQ(spares.take(folder_), i < SpareFolders::kMost);
  }
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
    EXPECT_FALSE(clear_folder(folder_));
    EXPECT_TRUE(fs::exists(folder_));
  }
  EXPECT_TRUE(clear_folder(folder_));
  EXPECT_FALSE(fs::exists(folder_));
  auto lock = take_folder(folder_).value();
  EXPECT_FALSE(clear_folder(folder_));
  EXPECT_TRUE(fs::exists(folder_));
}

TEST(ParseTask, ReadsOnlyWhatTextWrites) {
  EXPECT_EQ("12.3.0", parse_task("12.3.0")->text());
  for (auto text : {"", "12.3", "12.3.0.1", "12.3.x", "012.3.0", "12.3.99999999999", "notes"})
    EXPECT_FALSE(parse_task(text)) << text;
}

}  // namespace
}  // namespace lathe::compute

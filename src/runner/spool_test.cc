#include "runner/spool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() {
    std::string name = fs::temp_directory_path() / "lathe-spool.XXXXXX";
    work_ = ::mkdtemp(name.data());
  }
  ~SpoolTest() override { fs::remove_all(work_); }

  Spool make(std::string run) {
    return Spool::create(work_, {.run = std::move(run), .attempt = 1, .token = "t"}).value();
  }
  ino_t inode(std::string_view name) {
    struct stat status{};
    EXPECT_EQ(0, ::stat((work_ / "spool" / name).c_str(), &status)) << name;
    return status.st_ino;
  }

  fs::path work_;
};

TEST_F(SpoolTest, UsesTheFilesOfTheTaskBeforeItAndNothingOfWhatWasInThem) {
  auto first = make("first");
  ASSERT_TRUE(first.write_order({}));
  ASSERT_TRUE(first.write_exit(model::ExitRecord()));
  ASSERT_TRUE(first.mark_delivered());
  const auto header = inode("spool.json"), order = inode("order.json"), exit = inode("delivered");
  first.remove();
  auto second = make("second");
  EXPECT_EQ(header, inode("spool.json"));
  EXPECT_EQ(order, inode("order.json"));
  EXPECT_EQ(exit, inode("exit"));
  EXPECT_FALSE(second.is_delivered());
  EXPECT_FALSE(second.read_order().value());
  EXPECT_FALSE(second.read_exit().value());
}

TEST_F(SpoolTest, IsMadeAlthoughSomebodyStillHoldsTheHeaderOfTheTaskBeforeIt) {
  auto first = make("first");
  const sys::Fd guardian(::dup(first.lock_fd()));
  first.remove();
  auto second = make("second");
  second.remove();
}

TEST_F(SpoolTest, IsNotMadeOverAnother) {
  auto first = make("first");
  auto second = Spool::create(work_, {.run = "second", .attempt = 1, .token = "t"});
  ASSERT_FALSE(second);
  EXPECT_EQ(base::Code::conflict, second.error().code());
}

// A record must not outlive, on a disk that lost its power, what it says is there.
TEST_F(SpoolTest, ADraftOfTheExitCountsUntilTheMachineIsStartedAgain) {
  model::ExitRecord exit;
  exit.reason = model::EndReason::exited;
  exit.exit_code = 9;
  auto spool = make("first");
  ASSERT_TRUE(spool.draft_exit(exit));
  EXPECT_EQ(9, spool.read_exit().value()->exit_code);
  const auto file = work_ / "spool/exit";
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto at = text.find("draft ");
  ASSERT_NE(text.npos, at);
  text.replace(at + 6, 8, "another-");
  std::ofstream(file) << text;
  EXPECT_FALSE(spool.read_exit().value());
  ASSERT_TRUE(spool.write_exit(exit));
  EXPECT_EQ(9, spool.read_exit().value()->exit_code);
}

TEST(TaskLabel, IsShortAndItsOwnAlsoForRunsOfTheSameName) {
  const SpoolHeader one{.run = std::string(255, 'r'), .attempt = 1, .token = "a"};
  SpoolHeader other = one;
  other.token = "b";
  EXPECT_LE(task_label(one).size(), 150u);
  EXPECT_EQ(task_label(one), task_label(one));
  EXPECT_NE(task_label(one), task_label(other)) << "a run of the same id on another server";
}

}  // namespace
}  // namespace lathe::runner

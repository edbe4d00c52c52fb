// Secrets in the log of a real runner, which is killed too.
#include "runner/log_redactor.h"

#include "runner/runner_fixture.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

class LogRedactorTest : public RunnerTest {
 protected:
  // The script waits for `go`, which appears when the secret is hidden.
  pid_t start_with_secret(const std::string& script) {
    set_script("echo before hunter2-hunter2; until [ -e go ]; do sleep 0.01; done; " + script);
    pid_t runner = start_runner();
    server_.show_secret("hunter2-hunter2");
    EXPECT_TRUE(eventually([&] { return server_.is_hidden(); }));
    return runner;
  }
  void go() { std::ofstream(work_ / "run/go") << ""; }
};

TEST_F(LogRedactorTest, HidesASecretFromTheMomentThatItIsGiven) {
  pid_t runner = start_with_secret("echo one hunter2-hunter2 two; printf hunter2-; sleep 0.05; echo 'hunter2 three'");
  go();
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_EQ(server_.log(), "before hunter2-hunter2\none *** two\n*** three\n");
  EXPECT_EQ(server_.reported_log().size, server_.log().size());
}

TEST_F(LogRedactorTest, KeepsEveryOtherByteAcrossSegments) {
  order_.segment_bytes = 4096;
  pid_t runner = start_with_secret("for i in $(seq 1 3000); do echo $i hunter2-hunter2; done; printf hunter2-hunter");
  go();
  EXPECT_EQ(0, wait_for(runner).code());
  std::string expected = "before hunter2-hunter2\n";
  for (int i = 1; i <= 3000; ++i) expected += fmt::format("{} ***\n", i);
  EXPECT_TRUE(server_.log() == expected + "hunter2-hunter");
}

TEST_F(LogRedactorTest, AKilledRunnersLogIsWholeAndWithoutTheSecret) {
  pid_t runner = start_with_secret(
      "printf 'half hunter2-'; echo x > half; until [ -e more ]; do sleep 0.01; done; "
      "echo 'hunter2 rest hunter2-hunter2'; echo x > done; sleep 1000");
  go();
  ASSERT_TRUE(eventually([&] { return fs::exists(work_ / "run/half") && server_.log().ends_with("half "); }));
  ::kill(runner, SIGSTOP);  // so that the second half stays in the pipe
  std::ofstream(work_ / "run/more") << "";
  ASSERT_TRUE(eventually([&] { return fs::exists(work_ / "run/done"); }));
  ::kill(runner, SIGKILL);
  wait_for(runner);
  EXPECT_EQ(0, wait_for(start_adopter()).code());
  EXPECT_EQ(server_.log(), "before hunter2-hunter2\nhalf *** rest ***\n");
}

TEST(LogRedactor, TextThatAKilledRunnerWroteIsNotWrittenAgain) {
  auto redactor = base::value_or_throw(LogRedactor::create());
  ASSERT_TRUE(redactor->add("a", "hunter2"));
  auto pipe = base::value_or_throw(sys::make_pipe());
  ASSERT_EQ(20, ::write(pipe.write.get(), "say hunter2 and hunt", 20));
  ASSERT_EQ(20, redactor->take(pipe.read.get(), 100));
  EXPECT_EQ(redactor->hide(100, false).text, "say *** and ");
  redactor->reload();
  auto rest = redactor->hide(105, false);  // five bytes reached the disk before the kill
  EXPECT_EQ(rest.text, "** and ");
  redactor->written(rest, 112);
  EXPECT_EQ(redactor->hide(112, true).text, "hunt");
}

TEST(LogRedactor, RefusesMoreSecretsThanItHasRoomFor) {
  auto redactor = base::value_or_throw(LogRedactor::create());
  base::Result<void> added;
  int count = 0;
  for (; added && count < 1000; ++count) added = redactor->add(std::to_string(count), std::string(65536, 'x'));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code(), base::Code::too_large);
  EXPECT_EQ(redactor->ids().size(), static_cast<std::size_t>(count - 1));
}

}  // namespace
}  // namespace lathe::runner

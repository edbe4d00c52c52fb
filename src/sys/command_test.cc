#include "sys/command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/temp_folder.h"
#include "sys/fd.h"

namespace lathe::sys {
namespace {

CommandRequest shell(const std::string& script) { return {{"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin"}, {}}; }

TEST(RunCommand, CollectsOutputAndGivesOutErrorsByTheLine) {
  std::vector<std::string> lines;
  auto result = run_command(shell("echo data; echo one >&2; printf 'two\\rthree' >&2; exit 3"),
                            [&](std::string_view line) { lines.emplace_back(line); }, {});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(3, result->status);
  EXPECT_EQ("data\n", result->output);
  EXPECT_EQ((std::vector<std::string>{"one", "two", "three"}), lines);
}

TEST(RunCommand, ReadsOutputThatIsLargerThanAPipe) {
  auto result = run_command(shell("head -c 3000000 /dev/zero"), {}, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(3000000U, result->output.size());
}

TEST(RunCommand, SaysWhichProgramCouldNotBeStarted) {
  auto result = run_command({{"/no/such/program"}, {}, {}}, {}, {});
  ASSERT_FALSE(result);
  EXPECT_NE(std::string::npos, result.error().message().find("/no/such/program"));
}

TEST(RunCommand, EndsTheWholeGroupWhenItIsStopped) {
  std::stop_source stop;
  std::string grandchild;
  auto result = run_command(
      shell("sleep 1000 & echo $! >&2; wait"),
      [&](std::string_view line) {
        grandchild = line;
        stop.request_stop();
      },
      stop.get_token());
  ASSERT_FALSE(result);
  EXPECT_EQ(base::Code::cancelled, result.error().code());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (::kill(std::stoi(grandchild), 0) == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_NE(0, ::kill(std::stoi(grandchild), 0));
}

TEST(RunCommand, DoesNotWaitForWhatAToolLeavesRunning) {
  auto result = run_command(shell("sleep 1000 & echo done"), {}, {});
  ASSERT_TRUE(result);
  EXPECT_EQ("done\n", result->output);
}

// Ends when the test has said so; then its file is there.
struct Daemon {
  support::TempFolder temp;
  std::string there = temp.path() / "there", go = temp.path() / "go", done = temp.path() / "done";
  CommandRequest request(bool leaves_daemons) {
    const std::string daemon =
        fmt::format("echo $$ > {0}.tmp; mv {0}.tmp {0}; while [ ! -e {1} ]; do :; done; echo > {2}", there, go, done);
    auto out = shell(fmt::format("setsid sh -c '{}' & while [ ! -e {} ]; do :; done", daemon, there));
    out.leaves_daemons = leaves_daemons;
    return out;
  }
  bool is_alive() const {
    pid_t pid = 0;
    std::ifstream(there) >> pid;
    return ::kill(pid, 0) == 0;
  }
};

TEST(RunCommand, TidiesUpAfterAKill) {
  support::TempFolder temp;
  const std::string file = temp.path() / "tidy";
  auto request = shell("echo there >&2; sleep 1000");
  request.after_kill = {"/usr/bin/touch", file};
  std::stop_source stop;
  EXPECT_FALSE(run_command(request, [&](std::string_view) { stop.request_stop(); }, stop.get_token()));
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(RunCommand, EndsADaemonOfATool) {
  Daemon daemon;
  ASSERT_TRUE(run_command(daemon.request(false), {}, {}));
  EXPECT_FALSE(daemon.is_alive());
}

TEST(RunCommand, LetsADaemonLiveOnWhereThatIsMeant) {
  Daemon daemon;
  ASSERT_TRUE(run_command(daemon.request(true), {}, {}));
  EXPECT_TRUE(daemon.is_alive());
  std::ofstream(daemon.go).flush();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!std::filesystem::exists(daemon.done) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_TRUE(std::filesystem::exists(daemon.done));
}

TEST(RunCommand, EndsWithUsWhateverItStarted) {
  Fd read, write;
  {
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe);
    read = std::move(pipe->read), write = std::move(pipe->write);
  }
  // A process of its own, which is killed while its tool's daemon, in another session, says that it is there.
  support::TempFolder temp;
  const std::string tidy = temp.path() / "tidy";
  auto request = shell("setsid sh -c 'echo $$ >&2; sleep 1000' & wait");
  request.after_kill = {"/usr/bin/touch", tidy};
  const pid_t owner = ::fork();
  if (owner == 0) {
    (void)run_command(request, [&](std::string_view line) { (void)!::write(write.get(), line.data(), line.size()); },
                      {});
    ::_exit(0);
  }
  char text[32] = {};
  ASSERT_GT(::read(read.get(), text, sizeof text - 1), 0);
  const pid_t daemon = std::stoi(text);
  EXPECT_EQ(0, ::kill(daemon, 0));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!std::filesystem::exists(tidy) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(std::filesystem::exists(tidy));
  EXPECT_NE(0, ::kill(daemon, 0)) << "it was killed before";
}

TEST(Environment, SettingReplaces) {
  std::vector<std::string> environment{"A=1", "AB=2"};
  set_variable(environment, "A", "3");
  EXPECT_EQ((std::vector<std::string>{"AB=2", "A=3"}), environment);
  unset_variable(environment, "AB");
  EXPECT_EQ((std::vector<std::string>{"A=3"}), environment);
}

TEST(FindProgram, LooksThroughThePath) {
  EXPECT_EQ("/bin/sh", find_program("sh", "/no/such:/bin"));
  EXPECT_EQ("", find_program("sh", "/no/such"));
  EXPECT_EQ("", find_program("etc", "/"));
}

}  // namespace
}  // namespace lathe::sys

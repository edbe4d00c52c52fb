#include "sys/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <csignal>

#include "sys/process_tree.h"
#include "sys/small_file.h"

namespace lathe::sys {
namespace {

std::string read_all(int fd) {
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  return out;
}

int wait_status(pid_t pid) {
  int status = 0;
  EXPECT_EQ(pid, ::waitpid(pid, &status, 0));
  return status;
}

SpawnRequest shell(const std::string& script) {
  SpawnRequest request;
  request.argv = {"/bin/sh", "-c", script};
  request.environment = {"PATH=/usr/bin:/bin", "WORD=hello"};
  return request;
}

TEST(Spawn, GivesTheChildItsFolderEnvironmentAndOutput) {
  auto pipe = make_pipe().value();
  auto request = shell("pwd; echo $WORD; echo err >&2");
  request.directory = "/usr";
  request.output = request.error = pipe.write.get();
  auto child = spawn(request);
  ASSERT_TRUE(child) << child.error().text();
  pipe.write.reset();
  EXPECT_EQ("/usr\nhello\nerr\n", read_all(pipe.read.get()));
  EXPECT_EQ(0, wait_status(child->pid));
}

TEST(Spawn, GivesTheChildDefaultSignalsWhateverItsParentIgnores) {
  auto before = std::signal(SIGPIPE, SIG_IGN);
  auto pipe = make_pipe().value();
  auto request = shell("grep SigIgn /proc/self/status");
  request.output = pipe.write.get();
  auto child = spawn(request);
  std::signal(SIGPIPE, before);
  ASSERT_TRUE(child) << child.error().text();
  pipe.write.reset();
  EXPECT_EQ("SigIgn:\t0000000000000000\n", read_all(pipe.read.get()));
  EXPECT_EQ(0, wait_status(child->pid));
}

TEST(Spawn, TellsWhichStepFailedWhenTheProgramDoesNotExist) {
  SpawnRequest request;
  request.argv = {"/no/such/program"};
  auto child = spawn(request);
  ASSERT_FALSE(child);
  EXPECT_EQ(base::Code::not_found, child.error().code());
  EXPECT_NE(std::string::npos, child.error().text().find("executing it"));
  EXPECT_EQ(-1, ::waitpid(-1, nullptr, WNOHANG)) << "a failed spawn must leave no zombie";
}

TEST(Spawn, LeaksNoDescriptorAndNoBlockedSignalIntoTheChild) {
  Fd inheritable(::open("/dev/null", O_RDONLY));  // deliberately without close-on-exec
  auto pipe = make_pipe().value();
  auto request = shell("ls /proc/self/fd; grep SigBlk /proc/self/status");
  request.output = pipe.write.get();
  auto signals = block_signals({SIGUSR1}).value();
  auto child = spawn(request).value();
  pipe.write.reset();
  // 3 is ls reading the folder.
  EXPECT_EQ("0\n1\n2\n3\nSigBlk:\t0000000000000000\n", read_all(pipe.read.get()));
  wait_status(child.pid);
}

TEST(Spawn, MakesTheChildLeaderOfItsOwnSession) {
  auto pipe = make_pipe().value();
  auto request = shell("cut -d' ' -f6 /proc/$$/stat; echo $$");
  request.output = pipe.write.get();
  auto child = spawn(request).value();
  pipe.write.reset();
  auto text = read_all(pipe.read.get());
  EXPECT_EQ(fmt::format("{0}\n{0}\n", child.pid), text);
  wait_status(child.pid);
}

TEST(ProcessTree, KillsADaemonThatDoubleForkedIntoItsOwnSession) {
  // In a process of its own: becoming a subreaper is for life.
  pid_t tester = ::fork();
  if (tester == 0) {
    if (!become_subreaper()) ::_exit(2);
    auto pipe = make_pipe().value();
    auto request = shell("setsid sh -c 'sh -c \"echo $$; exec sleep 1000\" & exit' & wait; exit 0");
    request.output = pipe.write.get();
    auto child = spawn(request);
    if (!child) ::_exit(3);
    char byte;
    if (::read(pipe.read.get(), &byte, 1) != 1) ::_exit(4);  // the daemon lives
    ::waitpid(child->pid, nullptr, 0);
    if (descendants(::getpid()).empty()) ::_exit(5);
    if (kill_own_descendants(std::chrono::seconds(10)) != 0) ::_exit(6);
    pipe.write.reset();
    while (::read(pipe.read.get(), &byte, 1) > 0) {
    }  // end of file: nobody holds the pipe any more
    ::_exit(descendants(::getpid()).empty() ? 0 : 7);
  }
  EXPECT_EQ(0, WEXITSTATUS(wait_status(tester)));
}

TEST(ProcessTree, SumsTheMemoryOfAllProcesses) {
  auto pipe = make_pipe().value();
  auto request = shell("sleep 1000 & sleep 1000 & echo ready; wait");
  request.output = pipe.write.get();
  auto child = spawn(request).value();
  char byte;
  ASSERT_EQ(1, ::read(pipe.read.get(), &byte, 1));
  auto usage = tree_usage(::getpid());
  EXPECT_GE(usage.processes, 3);
  EXPECT_GT(usage.resident_bytes, 100'000);
  signal_descendants(::getpid(), SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(wait_status(child.pid)));
}

}  // namespace
}  // namespace lathe::sys

#include "sys/box.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "sys/process_tree.h"
#include "support/temp_folder.h"

namespace lathe::sys {
namespace {

namespace fs = std::filesystem;

class BoxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (auto why = probe_box(); !why.empty()) GTEST_SKIP() << why;
    for (const char* name : {"hidden", "hidden/inside", "tmp", "var"}) fs::create_directories(root_ / name);
    std::ofstream(root_ / "hidden" / "secret") << "hush";
    std::ofstream(root_ / "hidden" / "inside" / "data") << "shown";
    view_.hidden = {root_ / "hidden"};
    view_.tmp = root_ / "tmp";
    view_.var_tmp = root_ / "var";
  }

  struct Ended {
    GuardianReport report;
    std::string output;
  };
  Ended run(const std::string& script) {
    auto box = Box::start(view_, {});
    EXPECT_TRUE(box) << box.error().text();
    return run_in(**box, script);
  }
  static Ended run_in(Box& box, const std::string& script) {
    auto pipe = make_pipe();
    SpawnRequest program;
    program.argv = {"/bin/sh", "-c", script};
    program.environment = {"PATH=/usr/bin:/bin"};
    program.output = program.error = pipe->write.get();
    auto started = box.run(program, -1, "");
    EXPECT_TRUE(started) << started.error().text();
    pipe->write.reset();
    Ended out;
    char buffer[4096];
    for (ssize_t n; (n = ::read(pipe->read.get(), buffer, sizeof buffer)) > 0;)
      out.output.append(buffer, static_cast<std::size_t>(n));
    auto report = box.read_report();
    EXPECT_TRUE(report);
    if (report) out.report = *report;
    EXPECT_TRUE(out.report.started) << out.report.start_error;
    return out;
  }

  support::TempFolder folder_;
  const fs::path root_ = folder_.path();
  BoxView view_;
};

TEST_F(BoxTest, HiddenFoldersAreEmptyButForWhatIsShown) {
  view_.tmp.clear();  // else all of this lies below a folder of its own, where it may do what it likes
  view_.shown = {{root_ / "hidden" / "inside", root_ / "hidden" / "inside", true}};
  auto ended = run(fmt::format("cd {}/hidden; ls; cat inside/data; echo x > inside/data || echo refused; "
                               "echo x > new || echo refused",
                               root_.string()));
  EXPECT_TRUE(ended.output.starts_with("inside\nshown")) << ended.output;
  EXPECT_EQ(std::ranges::count(base::split(ended.output, '\n'), "refused"), 2) << ended.output;
}

TEST_F(BoxTest, WhatIsShownLaterComesFromHiddenAndCoveredPlaces) {
  auto box = Box::start(view_, {});
  ASSERT_TRUE(box);
  auto bound = (*box)->bind_read_only(root_ / "hidden" / "inside", root_ / "hidden" / "inside");
  ASSERT_TRUE(bound) << bound.error().text();
  EXPECT_EQ(run_in(**box, fmt::format("cat {}/hidden/inside/data", root_.string())).output, "shown");
}

TEST_F(BoxTest, TemporaryFoldersAndProcessesAreItsOwn) {
  auto ended = run("echo $$; touch /tmp/mine /var/tmp/mine /dev/shm/mine; ls /dev/shm; ls -d /proc/[0-9]* | wc -l");
  auto lines = base::split(ended.output, '\n');
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0], "2");
  EXPECT_EQ(lines[1], "mine");
  EXPECT_TRUE(fs::exists(root_ / "tmp" / "mine") && fs::exists(root_ / "var" / "mine"));
  EXPECT_FALSE(fs::exists("/dev/shm/mine"));
}

TEST_F(BoxTest, ItsProgramHasNoPrivileges) {
  auto ended = run("grep -E '^(Cap(Eff|Prm|Bnd)|NoNewPrivs|Seccomp):' /proc/self/status; umount /proc || echo refused");
  for (const char* line : {"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000",
                           "NoNewPrivs:\t1", "Seccomp:\t2", "refused"})
    EXPECT_NE(ended.output.find(line), std::string::npos) << line << " in " << ended.output;
}

TEST_F(BoxTest, ItsProgramIsAnotherUserWithANameAndReachesWhatIsShownBelowClosedFolders) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ::chmod((root_ / "hidden").c_str(), 0700);
  view_.hidden.clear();
  view_.confinement.user = ProgramUser{2'000'000'777, 2'000'000'777, {}};
  view_.user_name = "lathe-test";
  view_.home = "/tmp";
  ::chmod(view_.tmp.c_str(), 01777);
  view_.shown = {{root_ / "hidden" / "inside", root_ / "hidden" / "inside", true}};
  auto ended = run(fmt::format("id -un; id -gn; cat {0}/hidden/inside/data; ls {0}/hidden; touch /tmp/x && echo wrote",
                               root_.string()));
  EXPECT_EQ(ended.output, "lathe-test\nlathe-test\nshowninside\nwrote\n");
}

TEST_F(BoxTest, AProcessThatLeftItsSessionEndsWithTheProgram) {
  auto box = Box::start(view_, {});
  ASSERT_TRUE(box);
  auto ended = run_in(**box, "setsid sh -c 'sleep 600 & sleep 600' >/dev/null 2>&1 </dev/null & echo over");
  EXPECT_EQ(ended.output, "over\n");
  EXPECT_EQ(ended.report.unkillable, 0);
  EXPECT_TRUE((*box)->wait_until_gone(std::chrono::seconds(0)));
}

TEST_F(BoxTest, EverybodyDiesWithTheFirstProcess) {
  auto box = Box::start(view_, {});
  ASSERT_TRUE(box);
  const BoxName name = name_process((*box)->pid());
  SpawnRequest program;
  program.argv = {"/bin/sh", "-c", "setsid sleep 600 & sleep 600"};
  program.environment = {"PATH=/usr/bin:/bin"};
  ASSERT_TRUE((*box)->run(program, -1, ""));
  std::vector<pid_t> pids;
  while (pids.size() < 3) pids = descendants((*box)->pid());
  EXPECT_TRUE(open_process(name));
  ::kill((*box)->pid(), SIGKILL);
  EXPECT_FALSE((*box)->read_report());
  EXPECT_FALSE(open_process(name));
  for (pid_t pid : pids) EXPECT_NE(::kill(pid, 0), 0) << pid;
}

TEST_F(BoxTest, WhoOutlivesItsOwnerKillsAllAndSaysItsLastWords) {
  const Fd outside(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto pipe = make_pipe();
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto words = [&](const std::string& note, int) {
      Fd file(::openat(outside.get(), "words", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      (void)!::write(file.get(), note.data(), note.size());
    };
    auto box = Box::start(view_, {.keep = {outside.get()}, .last_words = words});
    SpawnRequest program;
    program.argv = {"/bin/sh", "-c", "setsid sleep 600 & echo ready; sleep 600"};
    program.environment = {"PATH=/usr/bin:/bin"};
    program.output = pipe->write.get();
    if (!box || !(*box)->run(program, -1, "the end")) ::_exit(1);
    ::pause();
  }
  pipe->write.reset();
  char byte = 0;
  ASSERT_EQ(::read(pipe->read.get(), &byte, 1), 1);
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  while (::read(pipe->read.get(), &byte, 1) > 0) {  // until nobody is left who could write
  }
  std::string said;
  for (int look = 0; look < 5'000 && said != "the end"; ++look) {
    std::ifstream file(root_ / "words");
    std::getline(file, said);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(said, "the end");
}

TEST_F(BoxTest, IsMadeBesideThreads) {
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) std::string(100, 'x').append(100, 'y');
  });
  EXPECT_EQ(run("echo here").output, "here\n");
  stop = true;
  other.join();
}

TEST_F(BoxTest, AProgramThatCannotBeStartedIsToldWithTheStep) {
  auto box = Box::start(view_, {});
  ASSERT_TRUE(box);
  SpawnRequest program;
  program.argv = {"/nowhere/program"};
  ASSERT_TRUE((*box)->run(program, -1, ""));
  auto report = (*box)->read_report();
  ASSERT_TRUE(report && !report->started);
  EXPECT_NE(std::string(report->start_error).find("executing it"), std::string::npos) << report->start_error;
}

}  // namespace
}  // namespace lathe::sys

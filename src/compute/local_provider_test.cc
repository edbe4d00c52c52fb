#include "compute/local_provider.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "compute/lock_holder.h"
#include "rt/scope.h"

namespace lathe::compute {
namespace {

using rt::Task;
namespace fs = std::filesystem;

// Starts real processes: the launcher is a shell that does what the test wants instead of being a runner.
class LocalProviderTest : public ::testing::Test {
 public:
  LocalProviderTest() {
    std::string pattern = (fs::temp_directory_path() / "lathe-compute-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~LocalProviderTest() override {
    pool_.stop();
    fs::remove_all(folder_);
  }
  LocalProvider provider(const std::string& shell) {
    return LocalProvider({.program = "lathe", .work = folder_, .launcher = {"/bin/sh", "-c", shell}, .machine = {}},
                         loop_, pool_);
  }
  void run(Task<void> task) {
    std::exception_ptr failure;
    rt::Scope scope;
    scope.spawn("test", [](rt::Loop& home, Task<void> inner, std::exception_ptr& error) -> Task<void> {
      try {
        co_await std::move(inner);
      } catch (...) {
        error = std::current_exception();
      }
      home.stop();
    }(loop_, std::move(task), failure));
    loop_.run();
    if (failure) std::rethrow_exception(failure);
  }
  std::string read(const char* name) {
    std::ifstream file(folder_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  fs::path folder_;
  rt::Loop loop_;
  rt::BlockingPool pool_{"files", 1, 16};
  RunnerStart start_{{12, 1, 0}, "run-a", "unix:///sock", "the secret"};
};

TEST_F(LocalProviderTest, HandsTheTokenOverInTheEnvironmentAndNeverInTheArguments) {
  auto local = provider("echo \"$0 $*\" > " + (folder_ / "args").string() + "; env > " + (folder_ / "env").string());
  run([](LocalProvider& p, RunnerStart start) -> Task<void> { co_await p.gone(co_await p.start(start), {}); }(local,
                                                                                                              start_));
  EXPECT_EQ(read("args"), "lathe runner --url unix:///sock --work " + (folder_ / "12.1.0").string() + "\n");
  auto environment = read("env");
  EXPECT_NE(environment.find("LATHE_RUN_TOKEN=the secret\n"), std::string::npos);
  EXPECT_NE(environment.find("LATHE_RUN=run-a\n"), std::string::npos);
  EXPECT_NE(environment.find("LATHE_ATTEMPT=1\n"), std::string::npos);
}

TEST_F(LocalProviderTest, ARunnerIsInItsOwnSessionAndHoldsNoneOfOurDescriptors) {
  int leak = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as a library might
  auto local = provider("ls -l /proc/self/fd > " + (folder_ / "fds").string() + "; cut -d' ' -f6 /proc/$$/stat > " +
                        (folder_ / "session").string() + "; echo $$ > " + (folder_ / "pid").string());
  run([](LocalProvider& p, RunnerStart start) -> Task<void> { co_await p.gone(co_await p.start(start), {}); }(local,
                                                                                                              start_));
  ::close(leak);
  EXPECT_EQ(read("session"), read("pid"));
  EXPECT_EQ(read("fds").find(fmt::format(" {} -> /dev/null", leak)), std::string::npos);
}

TEST_F(LocalProviderTest, KillEndsARunnerAndItsEndIsNoticed) {
  auto local = provider("exec sleep 1000");
  run([](LocalProvider& p, RunnerStart start) -> Task<void> {
    auto handle = co_await p.start(start);
    p.kill(handle);
    co_await p.gone(handle, {});
    co_await p.gone(handle, {});  // long gone: at once
  }(local, start_));
}

TEST_F(LocalProviderTest, AHandleOfAnotherProcessWithTheSamePidIsGone) {
  auto local = provider("true");
  run([](LocalProvider& p) -> Task<void> {
    co_await p.gone(fmt::format("{}:{}", ::getpid(), 1), {});
    p.kill(fmt::format("{}:{}", ::getpid(), 1));  // must not hit us
    co_await p.gone("nonsense", {});
  }(local));
}

TEST_F(LocalProviderTest, AProgramThatIsNotThereIsAnError) {
  LocalProvider local({.program = "lathe", .work = folder_, .launcher = {"/nonexistent/program"}, .machine = {}}, loop_,
                      pool_);
  EXPECT_THROW(run([](LocalProvider& p, RunnerStart start) -> Task<void> { co_await p.start(start); }(local, start_)),
               base::Error);
}

TEST_F(LocalProviderTest, FindsARunnerByTheLockOnItsSpool) {
  auto local = provider("true");
  auto trace = [&] {
    Provider::Found found;
    run([](LocalProvider& p, TaskName task, Provider::Found& out) -> Task<void> { out = co_await p.find(task); }(
                                                                      local, start_.task, found));
    return found;
  };
  EXPECT_EQ(trace().trace, Provider::Trace::none);
  auto header = folder_ / "12.1.0" / "spool" / "spool.json";
  fs::create_directories(header.parent_path());
  std::ofstream(header) << "{}\n";
  EXPECT_EQ(trace().trace, Provider::Trace::dead);
  LockHolder runner(header, folder_ / "12.1.0");
  auto found = trace();
  EXPECT_EQ(found.trace, Provider::Trace::alive);
  EXPECT_TRUE(found.handle.starts_with(fmt::format("{}:", runner.pid()))) << found.handle;
}

TEST_F(LocalProviderTest, ARunnerThatCannotBeLookedAtIsNotTakenForGone) {
  auto local = provider("exec sleep 1000");
  run([](LocalProvider& p, RunnerStart start) -> Task<void> {
    auto handle = co_await p.start(start);
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit none = before;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
    bool failed = false;
    try {
      co_await p.gone(handle, {});
    } catch (const base::Error&) {
      failed = true;
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_TRUE(failed);
    p.kill(handle);
    co_await p.gone(handle, {});
  }(local, start_));
}

}  // namespace
}  // namespace lathe::compute

// What the tests of the runner share: a fake server, a work folder, and runners in processes of their own.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <climits>
#include <csignal>
#include <thread>

#include "runner/fake_server.h"
#include "runner/task.h"

namespace lathe::runner {

struct EndedProcess {
  int status = 0;
  rusage usage{};
  // The base::Code's exit status, or 0.
  int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

class RunnerTest : public testing::Test {
 protected:
  RunnerTest() { order_ = make_order(); }
  ~RunnerTest() override { std::filesystem::remove_all(root_); }

  static Order make_order() {
    Order order;
    order.run.value = "run-1";
    order.attempt = 1;
    order.experiment = "exp";
    order.workspace = "ws";
    order.log_name = "azureml-logs/70_driver_log.txt";
    order.grace_seconds = 30;
    return order;
  }

  void set_script(const std::string& script) { order_.command.command = {"/bin/sh", "-c", script}; }

  LinkFactory link_factory() {
    return [this] { return std::make_unique<FakeLink>(server_, work_ / "spool"); };
  }

  // Forks a runner for the order; the test's process is not one itself.
  pid_t start_runner() {
    server_.set_order(order_);
    return fork_and_run([this] {
      TaskOptions options{.work = work_,
                          .header = {.run = order_.run.value, .attempt = 1, .node = 0, .token = "secret-token"},
                          .url = "http://127.0.0.1:1",
                          .backoff = quick_,
                          .deliver_snapshot = snapshot_};
      return run_task(options, link_factory());
    });
  }
  pid_t start_adopter() {
    return fork_and_run([this] {
      return adopt_spool({.spool = work_ / "spool", .patience = std::chrono::seconds(20), .backoff = quick_},
                         [this](const SpoolHeader&) { return std::make_unique<FakeLink>(server_, work_ / "spool"); });
    });
  }
  EndedProcess wait_for(pid_t pid) {
    EndedProcess ended;
    EXPECT_EQ(pid, ::wait4(pid, &ended.status, 0, &ended.usage));
    return ended;
  }
  EndedProcess run() { return wait_for(start_runner()); }

  // Until `condition` holds; a failure when it does not within the limit.
  template <class Condition>
  static bool eventually(Condition condition, std::chrono::seconds limit = std::chrono::seconds(20)) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
      pause(std::chrono::milliseconds(1), -1);
    }
    return true;
  }
  static bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0; }
  // A pid that the script wrote into a file of its run folder.
  pid_t pid_in(const std::string& name) {
    pid_t pid = 0;
    EXPECT_TRUE(eventually([&] { return static_cast<bool>(std::ifstream(work_ / "run" / name) >> pid) && pid > 0; }))
        << name;
    return pid > 0 ? pid : INT_MAX;  // a pid that nobody has
  }
  // But bare folders and empty files, which are the provider's.
  bool nothing_is_left() const {
    namespace fs = std::filesystem;
    if (!fs::exists(work_)) return true;
    return std::all_of(
        fs::recursive_directory_iterator(work_), fs::recursive_directory_iterator(), [](const auto& entry) {
          if (entry.is_symlink()) return false;
          return entry.is_directory() ||
                 (entry.path().parent_path().filename() == "spool" && entry.path().filename() != "spool.json" &&
                  entry.is_regular_file() && entry.file_size() == 0);
        });
  }

  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) /
      fmt::format("runner-{}-{}", ::getpid(), testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::path work_ = root_ / "work";
  FakeServer server_{root_ / "server"};
  Order order_;
  BackoffLimits quick_{std::chrono::milliseconds(2), std::chrono::milliseconds(20)};
  SnapshotDelivery snapshot_;

 private:
  template <class Work>
  pid_t fork_and_run(Work work) {
    pid_t pid = ::fork();
    if (pid != 0) return pid;
    auto ended = work();
    if (!ended) fmt::print(stderr, "runner: {}\n", ended.error().text());
    ::_exit(ended ? 0 : base::exit_status(ended.error().code()));
  }
};

}  // namespace lathe::runner

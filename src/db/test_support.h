// What the tests of this folder share: a temporary folder, a home thread, a filled database.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "db/experiments.h"
#include "db/migrate.h"
#include "db/runs.h"
#include "db/sqlite.h"
#include "db/workspaces.h"
#include "rt/executor.h"
#include "rt/task.h"
#include "support/temp_folder.h"

namespace lathe::db {

using support::TempFolder;

// An executor with one thread, as rt::Loop is in the server.
class HomeThread final : public rt::Executor {
 public:
  HomeThread() : thread_([this] { loop(); }) {}
  ~HomeThread() override {
    post({});
    thread_.join();
  }
  void post(std::move_only_function<void()> work) override {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    wake_.notify_one();
  }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  void loop() {
    while (auto work = next()) work();
  }
  std::move_only_function<void()> next() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return !queue_.empty(); });
    auto work = std::move(queue_.front());
    queue_.pop_front();
    return work;
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::move_only_function<void()>> queue_;
  std::thread thread_;
};

struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

template <class T>
T get_soon(std::future<T> future) {
  if (future.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
    ADD_FAILURE() << "nothing came within 60 s";
    std::abort();  // the promise is still out there: nothing after this could be trusted
  }
  return future.get();
}

// What a task will give. Errors travel as values: an exception object shared by two threads looks like a race to tsan.
template <class T>
struct Pending {
  std::future<base::Result<T>> result;
  T get() { return base::value_or_throw(get_soon(std::move(result))); }
};

template <class T>
Detached drive(rt::Task<T> task, std::promise<base::Result<T>> result) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(task);
      result.set_value({});
    } else {
      result.set_value(co_await std::move(task));
    }
  } catch (const base::Error& error) {
    result.set_value(base::fail(error));
  }
}

// Starts the task on the home thread.
template <class T>
Pending<T> start(HomeThread& home, rt::Task<T> task) {
  std::promise<base::Result<T>> result;
  Pending<T> pending{result.get_future()};
  home.post(
      [task = std::move(task), result = std::move(result)]() mutable { drive(std::move(task), std::move(result)); });
  return pending;
}

template <class T>
T wait(HomeThread& home, rt::Task<T> task) {
  return start(home, std::move(task)).get();
}

// True as soon as the condition holds, false after 30 s.
template <class F>
bool eventually(F condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// The code of the Error that `work` throws; fails the test when it throws none.
template <class F>
base::Code code_of(F work) {
  try {
    work();
  } catch (const base::Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error came";
  return base::Code::internal;
}

inline model::RunRecord make_run(const std::string& id, const std::string& experiment = "mnist") {
  model::RunRecord run;
  run.id = {id};
  run.workspace = "ws";
  run.spec.experiment = experiment;
  run.spec.command.script = "train.py";
  run.spec.command.arguments = {"--epochs", "10", "--data", "$DATA"};
  run.spec.environment = {.interpreter = "/usr/bin/python3", .variables = {{"SEED", "1"}}};
  run.spec.snapshot = base::sha256("snapshot");
  run.state = model::RunState::queued;
  run.generation = 4;
  run.created = {1'700'000'000'000'000};
  run.submitted_by = "alice";
  return run;
}

// Inserts it with its workspace and experiment.
inline model::RunRecord add_run(Connection& connection, model::RunRecord run) {
  workspaces::insert_if_absent(connection, {run.workspace, "subscription", "group", run.created});
  experiments::ensure(connection, run.workspace, run.spec.experiment, run.created);
  runs::insert(connection, run);
  return run;
}

// A migrated database with one connection.
struct Rows : ::testing::Test {
  TempFolder folder;
  Connection connection{folder / "lathe.db", Connection::Mode::read_write};
  Rows() { migrate(connection); }
};

}  // namespace lathe::db

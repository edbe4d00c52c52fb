// What the database costs by itself: commit latency, group commit, CPU of a submit, list pages as it grows.
// usage: db_bench FOLDER   (on the disk that is to be measured)
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>

#include "db/audit.h"
#include "db/database.h"
#include "db/events.h"
#include "db/experiments.h"
#include "db/integrity.h"
#include "db/run_list.h"
#include "db/runs.h"
#include "db/workspaces.h"

namespace {

using namespace lathe;
using Clock = std::chrono::steady_clock;

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto of = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return of(use.ru_utime) + of(use.ru_stime);
}

class Home final : public rt::Executor {
 public:
  void post(std::move_only_function<void()> work) override {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    wake_.notify_one();
  }
  // Runs what is posted until `done`.
  void run_until(const bool& done) {
    while (!done) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return !queue_.empty(); });
      auto work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::move_only_function<void()>> queue_;
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

model::RunRecord make_run(std::int64_t number) {
  model::RunRecord run;
  run.id = {fmt::format("mnist_{:010}_{:08x}", number, number * 2654435761 % 4294967291)};
  run.workspace = "ws";
  run.spec.experiment = fmt::format("experiment-{}", number % 20);
  run.spec.command = {.script = "train.py", .command = {}, .arguments = {"--epochs", "10", "--data-folder", "$DATA"}};
  run.spec.environment = {.interpreter = "/usr/bin/python3", .variables = {{"SEED", "1"}}};
  run.spec.snapshot = base::sha256("snapshot");
  run.spec.tags = {{"team", number % 2 == 0 ? "nlp" : "vision"}};
  run.state = model::RunState::queued;
  run.generation = 4;
  run.created = {1'700'000'000'000'000 + number * 1'000'000};
  run.submitted_by = "alice";
  return run;
}

void submit(db::Connection& connection, std::int64_t number, model::RunState state = model::RunState::queued) {
  auto run = make_run(number);
  run.state = state;
  db::experiments::ensure(connection, run.workspace, run.spec.experiment, run.created);
  db::runs::insert(connection, run);
  using model::RunState;
  const model::RunMove moves[] = {{RunState::not_started, RunState::starting, "submitted", run.created},
                                  {RunState::starting, RunState::preparing, "accepted", run.created},
                                  {RunState::preparing, RunState::queued, "environment is the user's", run.created},
                                  {RunState::queued, RunState::queued, "waits for nodes", run.created}};
  db::events::append_moves(connection, run, moves);
  db::audit::append(connection, {.at = run.created,
                                 .actor = "alice",
                                 .token_id = 1,
                                 .source = "127.0.0.1",
                                 .action = "run.submit",
                                 .object = run.id.value,
                                 .detail = "{}"});
}

std::int64_t next_number = 0;

Detached submit_many(db::Database& database, int count, int& open, bool& done) {
  for (int i = 0; i < count; ++i) {
    co_await database.write([number = next_number++](db::Connection& connection) { submit(connection, number); });
  }
  if (--open == 0) done = true;
}

void measure_submits(db::Database& database, Home& home, int clients, int each) {
  const auto begin = Clock::now();
  const double cpu = cpu_seconds();
  const auto commits = database.stats().commits.load();
  int open = clients;
  bool done = false;
  for (int i = 0; i < clients; ++i) submit_many(database, each, open, done);
  home.run_until(done);
  const double wall = seconds(Clock::now() - begin);
  const int total = clients * each;
  fmt::print("submit, {:3} in flight: {:7.0f}/s  {:7.1f} us wall each  {:6.1f} us CPU each  {:5.1f} per commit\n",
             clients, total / wall, wall / total * 1e6, (cpu_seconds() - cpu) / total * 1e6,
             static_cast<double>(total) / static_cast<double>(database.stats().commits - commits));
}

// Microseconds per page, warm.
double page_cost(db::Connection& connection, const db::runs::ListQuery& query) {
  constexpr int kRounds = 200;
  db::runs::list(connection, query);
  const auto begin = Clock::now();
  for (int i = 0; i < kRounds; ++i) db::runs::list(connection, query);
  return seconds(Clock::now() - begin) / kRounds * 1e6;
}

void measure_lists(const std::filesystem::path& file, std::int64_t runs) {
  db::Connection reader(file, db::Connection::Mode::read_only);
  using model::RunState;
  const base::UtcTime middle{1'700'000'000'000'000 + runs / 2 * 1'000'000};
  const std::pair<const char*, db::runs::ListQuery> queries[] = {
      {"all", {.workspace = "ws"}},
      {"experiment", {.workspace = "ws", .experiment = "experiment-3"}},
      {"Failed", {.workspace = "ws", .state = RunState::failed}},
      {"experiment+Failed", {.workspace = "ws", .experiment = "experiment-3", .state = RunState::failed}},
      {"tag", {.workspace = "ws", .tag = db::runs::TagFilter{"team", "nlp"}}},
      {"since middle", {.workspace = "ws", .since = middle}},
      {"until middle", {.workspace = "ws", .until = middle}},
  };
  fmt::print("list page of 50 at {:6} runs:", runs);
  for (const auto& [name, query] : queries) fmt::print("  {} {:.0f} us", name, page_cost(reader, query));
  fmt::print("\n");
}

void fill(const std::filesystem::path& file, std::int64_t runs) {
  db::Connection writer(file, db::Connection::Mode::read_write);
  while (next_number < runs) {
    db::transaction(writer, [&](db::Connection& connection) {
      for (int i = 0; i < 1000 && next_number < runs; ++i, ++next_number) {
        submit(connection, next_number, next_number % 25 == 3 ? model::RunState::failed : model::RunState::completed);
      }
    });
    writer.execute("PRAGMA wal_checkpoint(PASSIVE)");
  }
}

std::unique_ptr<db::Database> open(const std::filesystem::path& file, Home& home) {
  return base::value_or_throw(db::Database::open(file, home));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: db_bench FOLDER\n");
    return 2;
  }
  const auto file = std::filesystem::path(arguments[1]) / "bench.db";
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + suffix);
  Home home;
  open(file, home)->stop();
  {
    db::Connection writer(file, db::Connection::Mode::read_write);
    db::workspaces::insert_if_absent(writer, {"ws", "s", "g", {1}});
  }
  fill(file, 100);
  measure_lists(file, 100);
  {
    auto database = open(file, home);
    measure_submits(*database, home, 1, 300);
    measure_submits(*database, home, 64, 100);
  }
  fill(file, 100'000);
  measure_lists(file, 100'000);
  {
    const auto begin = Clock::now();
    db::Connection reader(file, db::Connection::Mode::read_only);
    db::check_integrity(reader);
    fmt::print("integrity check of {} MiB: {:.2f} s\n", std::filesystem::file_size(file) >> 20,
               seconds(Clock::now() - begin));
  }
  auto database = open(file, home);
  measure_submits(*database, home, 1, 300);
  measure_submits(*database, home, 64, 100);
}

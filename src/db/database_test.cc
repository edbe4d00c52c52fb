#include "db/database.h"

#include <atomic>
#include <fstream>

#include "db/backup.h"
#include "db/meta.h"
#include "db/test_support.h"

namespace lathe::db {
namespace {

struct DatabaseTest : ::testing::Test {
  TempFolder folder;
  HomeThread home;
  std::unique_ptr<Database> database = open();

  std::unique_ptr<Database> open() { return base::value_or_throw(Database::open(folder / "lathe.db", home)); }

  Pending<void> write_key(int key) {
    return start(home, database->write([key](Connection& connection) {
      connection.prepare("INSERT INTO meta VALUES (?, 'v')").bind(std::to_string(key)).run();
    }));
  }
  std::int64_t count_keys() {
    return wait(home, database->read([](Connection& connection) {
      Statement row = connection.prepare("SELECT count(*) FROM meta WHERE value = 'v'");
      row.step();
      return row.integer(0);
    }));
  }
};

TEST_F(DatabaseTest, ReadsWhatWasWritten) {
  write_key(1).get();
  EXPECT_EQ(count_keys(), 1);
}

TEST_F(DatabaseTest, GoesOnAtHomeAfterAWriteAndAfterARead) {
  const auto where = [](Database& db, bool reading) -> rt::Task<std::thread::id> {
    if (reading)
      co_await db.read([](Connection&) {});
    else
      co_await db.write([](Connection&) {});
    co_return std::this_thread::get_id();
  };
  EXPECT_EQ(wait(home, where(*database, true)), home.id());
  EXPECT_EQ(wait(home, where(*database, false)), home.id());
}

TEST_F(DatabaseTest, CommitsManyOperationsTogether) {
  std::vector<Pending<void>> pending;
  for (int i = 0; i < 2000; ++i) pending.push_back(write_key(i));
  for (auto& one : pending) one.get();
  EXPECT_EQ(count_keys(), 2000);
  EXPECT_EQ(database->stats().operations, 2000u);
  EXPECT_LT(database->stats().commits, 1000u);
  EXPECT_GT(database->stats().largest_batch, 1u);
  EXPECT_LE(database->stats().largest_batch, kBatchLimit);
}

// Holds the writer until everything is queued, so that what follows is one batch.
struct Gate {
  std::promise<void> open;
  std::shared_future<void> opened = open.get_future().share();
};

TEST_F(DatabaseTest, UndoesAThrowingOperationAloneInsideItsBatch) {
  Gate gate;
  auto holder = start(home, database->write([opened = gate.opened](Connection&) { opened.wait(); }));
  std::vector<Pending<void>> good, bad;
  for (int i = 0; i < 50; ++i) {
    good.push_back(write_key(i));
    bad.push_back(start(home, database->write([i](Connection& connection) {
      connection.prepare("INSERT INTO meta VALUES (?, 'v')").bind(std::to_string(1000 + i)).run();
      if (i % 2 == 0) throw base::Error(base::Code::invalid, "no");
      connection.prepare("INSERT INTO meta VALUES ('0', 'v')").run();  // breaks a constraint
    })));
  }
  gate.open.set_value();
  holder.get();
  for (auto& one : good) EXPECT_NO_THROW(one.get());
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(code_of([&] { bad[i].get(); }), i % 2 == 0 ? base::Code::invalid : base::Code::conflict);
  }
  EXPECT_EQ(count_keys(), 50);
  EXPECT_GE(database->stats().largest_batch, 2u);
}

TEST_F(DatabaseTest, PassesAnyExceptionOn) {
  const auto fails = [](Database& db, bool reading) -> rt::Task<bool> {
    const auto work = [](Connection&) { throw std::out_of_range("x"); };
    try {
      if (reading)
        co_await db.read(work);
      else
        co_await db.write(work);
    } catch (const std::out_of_range&) {
      co_return true;
    }
    co_return false;
  };
  EXPECT_TRUE(wait(home, fails(*database, true)));
  EXPECT_TRUE(wait(home, fails(*database, false)));
  write_key(1).get();
}

TEST_F(DatabaseTest, GivesEveryReadOneSnapshot) {
  write_key(1).get();
  std::promise<void> first_look;
  Gate gate;
  auto counts = start(home, database->read([&, opened = gate.opened](Connection& connection) {
    const auto count = [&] {
      Statement row = connection.prepare("SELECT count(*) FROM meta WHERE value = 'v'");
      row.step();
      return row.integer(0);
    };
    const auto before = count();
    first_look.set_value();
    opened.wait();
    return std::pair(before, count());
  }));
  first_look.get_future().wait();
  write_key(2).get();
  gate.open.set_value();
  EXPECT_EQ(counts.get(), std::pair(std::int64_t{1}, std::int64_t{1}));
}

TEST_F(DatabaseTest, RefusesMoreThanTheQueueHolds) {
  Gate gate;
  std::promise<void> held;
  auto holder = start(home, database->write([&, opened = gate.opened](Connection&) {
    held.set_value();
    opened.wait();
  }));
  held.get_future().wait();
  std::promise<base::Result<>> last;
  auto worked_off = last.get_future();
  const auto flood = [&last](Database& db) -> rt::Task<int> {
    for (std::size_t i = 1; i < kQueueLimit; ++i) drive(db.write([](Connection&) {}), std::promise<base::Result<>>());
    drive(db.write([](Connection&) {}), std::move(last));
    try {
      co_await db.write([](Connection&) {});
    } catch (const base::Error& error) {
      co_return error.code() == base::Code::unavailable ? 1 : 2;
    }
    co_return 0;
  };
  EXPECT_EQ(wait(home, flood(*database)), 1);
  gate.open.set_value();
  holder.get();
  (void)worked_off.get();
  write_key(1).get();  // there is room again
}

TEST_F(DatabaseTest, RefusesWorkAfterStop) {
  database->stop();
  EXPECT_EQ(code_of([&] { write_key(1).get(); }), base::Code::unavailable);
  EXPECT_EQ(code_of([&] { count_keys(); }), base::Code::unavailable);
}

TEST_F(DatabaseTest, CommitsWhatIsQueuedWhenItStops) {
  std::vector<Pending<void>> pending;
  std::promise<void> queued;
  for (int i = 0; i < 500; ++i) pending.push_back(write_key(i));
  home.post([&] { queued.set_value(); });
  queued.get_future().wait();
  database->stop();
  for (auto& one : pending) one.get();
  database = open();
  EXPECT_EQ(count_keys(), 500);
}

TEST_F(DatabaseTest, RemembersHowItWasStopped) {
  database->stop();
  EXPECT_FALSE(std::filesystem::exists(folder / "lathe.db-wal")) << "a clean stop leaves one file";
  {
    Connection connection(folder / "lathe.db", Connection::Mode::read_write);
    EXPECT_TRUE(stopped_cleanly(connection));
  }
  database = open();
  Connection connection(folder / "lathe.db", Connection::Mode::read_only);
  EXPECT_FALSE(stopped_cleanly(connection)) << "while it is open, a crash would be unclean";
}

// Spoils every page of the table `meta` but the root, on disk.
void spoil(const std::filesystem::path& file) {
  std::vector<std::int64_t> pages;
  {
    Connection connection(file, Connection::Mode::read_only);
    Statement row = connection.prepare("SELECT pageno FROM dbstat WHERE name = 'meta' AND pagetype = 'leaf'");
    while (row.step()) pages.push_back(row.integer(0));
  }
  ASSERT_GT(pages.size(), 3u);
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  for (const std::int64_t page : pages) {
    if (page == pages.back()) continue;  // 'stopped' sorts last and stays readable
    bytes.seekp((page - 1) * 4096);
    bytes << std::string(4096, '\x5a');
  }
}

void fill_meta(Database& database, HomeThread& home) {
  wait(home, database.write([](Connection& connection) {
    for (int i = 0; i < 2000; ++i) {
      connection.prepare("INSERT INTO meta VALUES (?, 'v')").bind(fmt::format("key {}", i)).run();
    }
  }));
}

TEST_F(DatabaseTest, ChecksItselfOnlyAfterAnUncleanStop) {
  fill_meta(*database, home);
  database.reset();
  spoil(folder / "lathe.db");
  EXPECT_NO_THROW(database = open()) << "after a clean stop nothing is checked";
  database.reset();
  {
    Connection connection(folder / "lathe.db", Connection::Mode::read_write);
    set_stopped(connection, false);
  }
  EXPECT_NO_THROW(database = open()) << "the doors open before the whole file is checked";
  std::promise<base::Error> fatal;
  home.post([&] { database->on_fatal([&](const base::Error& error) { fatal.set_value(error); }); });
  const auto found = get_soon(fatal.get_future());
  EXPECT_EQ(found.code(), base::Code::corrupt);
  EXPECT_NE(found.hint(), "");
}

TEST_F(DatabaseTest, TellsHomeOnceThatTheFileIsDamagedAndWritesNoMore) {
  fill_meta(*database, home);
  database.reset();
  spoil(folder / "lathe.db");
  database = open();
  std::atomic<int> told = 0;
  std::promise<std::thread::id> where;
  home.post([&] {
    database->on_fatal([&](const base::Error& error) {
      EXPECT_EQ(error.code(), base::Code::corrupt);
      if (++told == 1) where.set_value(std::this_thread::get_id());
    });
  });
  const auto touch_all = [&] {
    wait(home,
         database->write([](Connection& connection) { connection.prepare("UPDATE meta SET value = 'w'").run(); }));
  };
  EXPECT_EQ(code_of(touch_all), base::Code::corrupt);
  EXPECT_EQ(where.get_future().get(), home.id());
  EXPECT_EQ(code_of([&] { write_key(1).get(); }), base::Code::corrupt) << "later writes fail, too";
  database->stop();
  EXPECT_EQ(told, 1);
}

TEST_F(DatabaseTest, KeepsTheLogFileSmall) {
  for (int round = 0; round < 40; ++round) {
    wait(home, database->write([round](Connection& connection) {
      const std::string large(1000, 'x');
      for (int i = 0; i < 500; ++i) {
        connection.prepare("INSERT INTO meta VALUES (?, ?)").bind_all(fmt::format("{}/{}", round, i), large).run();
      }
    }));
  }
  EXPECT_LT(std::filesystem::file_size(folder / "lathe.db-wal"), 16u << 20);
  EXPECT_GT(database->stats().checkpoint_pages, 1000u);
}

TEST_F(DatabaseTest, CheckpointsInTheFirstIdleSecondAfterEveryBurst) {
  for (int burst = 0; burst < 3; ++burst) {
    const auto before = database->stats().checkpoint_pages.load();
    wait(home, database->write([burst](Connection& connection) {
      const std::string large(1000, 'x');
      for (int i = 0; i < 500; ++i)
        connection.prepare("INSERT INTO meta VALUES (?, ?)").bind_all(fmt::format("{}-{}", burst, i), large).run();
    }));
    EXPECT_TRUE(eventually([&] { return database->stats().checkpoint_pages > before; })) << burst;
  }
}

}  // namespace
}  // namespace lathe::db

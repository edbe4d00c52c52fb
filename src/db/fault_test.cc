// What happens to the database when the disk is full, when a sync fails, and when the process is killed.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <map>
#include <mutex>
#include <set>

#include "db/backup.h"
#include "db/database.h"
#include "db/events.h"
#include "db/meta.h"
#include "db/test_support.h"

namespace lathe::db {
namespace {

// SQLite's own file layer, with syncs and writes that fail when told to.
class FaultyDisk {
 public:
  FaultyDisk() {
    real_vfs_ = sqlite3_vfs_find(nullptr);
    vfs_ = *real_vfs_;
    vfs_.zName = "faulty";
    vfs_.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
      const int code = real_vfs_->xOpen(real_vfs_, name, file, flags, out);
      if (code == SQLITE_OK && file->pMethods != nullptr) patch(file);
      return code;
    };
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~FaultyDisk() {
    sync_result = write_result = SQLITE_OK;
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_vfs_, 1);
  }
  static inline std::atomic<int> sync_result = SQLITE_OK, write_result = SQLITE_OK;

 private:
  // SQLite has a table of functions for each way of locking. `patched` comes first: a file's table is its Methods.
  struct Methods {
    sqlite3_io_methods patched;
    const sqlite3_io_methods* real;
  };
  static const sqlite3_io_methods& real_of(sqlite3_file* file) {
    return *reinterpret_cast<const Methods*>(file->pMethods)->real;
  }
  static void patch(sqlite3_file* file) {
    const std::lock_guard lock(mutex_);
    Methods& methods = methods_[file->pMethods];
    methods = {*file->pMethods, file->pMethods};
    methods.patched.xSync = [](sqlite3_file* f, int flags) {
      return sync_result != SQLITE_OK ? sync_result.load() : real_of(f).xSync(f, flags);
    };
    methods.patched.xWrite = [](sqlite3_file* f, const void* data, int size, sqlite3_int64 offset) {
      return write_result != SQLITE_OK ? write_result.load() : real_of(f).xWrite(f, data, size, offset);
    };
    file->pMethods = &methods.patched;
  }
  static inline sqlite3_vfs* real_vfs_ = nullptr;
  static inline std::mutex mutex_;
  static inline std::map<const sqlite3_io_methods*, Methods> methods_;
  sqlite3_vfs vfs_{};
};

struct Faults : ::testing::Test {
  FaultyDisk disk;
  TempFolder folder;
  HomeThread home;
  std::unique_ptr<Database> database;

  void open(const std::filesystem::path& file) { database = base::value_or_throw(Database::open(file, home)); }

  Pending<void> write(const std::string& key, std::size_t size = 1) {
    return start(home, database->write([=](Connection& connection) {
      connection.prepare("INSERT INTO meta VALUES (?, ?)").bind_all(key, std::string(size, 'x')).run();
    }));
  }
  std::set<std::string> keys() {
    return wait(home, database->read([](Connection& connection) {
      std::set<std::string> found;
      Statement row = connection.prepare("SELECT key FROM meta WHERE key <> 'stopped'");
      while (row.step()) found.insert(row.text(0));
      return found;
    }));
  }
};

TEST_F(Faults, AFullDiskAtCommitFailsTheBatchAndNothingElse) {
  open(folder / "lathe.db");
  write("before").get();
  FaultyDisk::write_result = SQLITE_FULL;
  std::vector<Pending<void>> batch;
  for (int i = 0; i < 20; ++i) batch.push_back(write(fmt::format("full {}", i)));
  for (auto& one : batch) EXPECT_EQ(code_of([&] { one.get(); }), base::Code::no_space);
  EXPECT_EQ(keys(), (std::set<std::string>{"before"}));
  FaultyDisk::write_result = SQLITE_OK;
  write("after").get();
  EXPECT_EQ(keys(), (std::set<std::string>{"before", "after"}));
}

TEST_F(Faults, AFailedSyncIsFatal) {
  open(folder / "lathe.db");
  std::promise<base::Code> fatal;
  home.post([&] { database->on_fatal([&](const base::Error& error) { fatal.set_value(error.code()); }); });
  FaultyDisk::sync_result = SQLITE_IOERR_FSYNC;
  EXPECT_EQ(code_of([&] { write("lost").get(); }), base::Code::io);
  EXPECT_EQ(get_soon(fatal.get_future()), base::Code::io);
  FaultyDisk::sync_result = SQLITE_OK;
  EXPECT_EQ(code_of([&] { write("later").get(); }), base::Code::io)
      << "after a failed sync the kernel may have dropped what was written: nothing more is acknowledged";
  database.reset();
  Connection connection(folder / "lathe.db", Connection::Mode::read_only);
  EXPECT_FALSE(stopped_cleanly(connection)) << "the next start checks everything";
}

TEST_F(Faults, AnOperationThatDoesNotFitLeavesTheDatabaseWorking) {
  open(folder / "lathe.db");
  write("before").get();
  wait(home, database->write([](Connection& connection) { connection.execute("PRAGMA max_page_count=150"); }));
  EXPECT_EQ(code_of([&] { write("large", 4 << 20).get(); }), base::Code::no_space);
  write("after").get();
  EXPECT_EQ(keys(), (std::set<std::string>{"before", "after"}));
}

// Gone with its test, also when that fails half-way with files still open.
struct SmallDisk {
  std::filesystem::path at;
  bool mounted = ::mount("tmpfs", at.c_str(), "tmpfs", 0, "size=3m") == 0;
  ~SmallDisk() {
    if (mounted) ::umount2(at.c_str(), MNT_DETACH);
  }
};

TEST_F(Faults, AFullFileSystemIsSurvivedAndLeft) {
  const SmallDisk small{folder.path()};
  if (!small.mounted) GTEST_SKIP() << "mounting a tmpfs needs root";
  open(folder / "lathe.db");
  std::set<std::string> stored;
  const int filler = ::open((folder / "filler").c_str(), O_WRONLY | O_CREAT, 0600);
  const std::string block(4096, 'f');
  while (::write(filler, block.data(), block.size()) > 0) {
  }
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string key = fmt::format("key {}", i);
    try {
      write(key, 2000).get();
      stored.insert(key);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::Code::no_space) << error.text();
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(keys(), stored) << "reading goes on, and shows exactly what was acknowledged";
  ASSERT_EQ(::ftruncate(filler, 0), 0);
  ::close(filler);
  write("after").get();
  stored.insert("after");
  EXPECT_EQ(keys(), stored);
  database.reset();
  EXPECT_TRUE(check_database(folder / "lathe.db").has_value());
}

// Submits runs as fast as it can, 16 at a time, and says on the pipe which ones were acknowledged. Never returns.
[[noreturn]] void write_until_killed(const std::filesystem::path& file, int ledger, int round) {
  HomeThread home;
  auto database = base::value_or_throw(Database::open(file, home));
  std::deque<std::pair<int, Pending<void>>> pending;
  for (int i = round * 1'000'000;; ++i) {
    pending.emplace_back(i, start(home, database->write([i](Connection& connection) {
                           const auto run = add_run(connection, make_run(std::to_string(i)));
                           events::append_change(connection, run, "state", "submitted", {i});
                         })));
    if (pending.size() < 16) continue;
    pending.front().second.get();
    const int acknowledged = pending.front().first;
    pending.pop_front();
    if (::write(ledger, &acknowledged, sizeof acknowledged) != sizeof acknowledged) ::_exit(1);
  }
}

// Kills the child after it has acknowledged `count` runs; gives all that were.
std::vector<int> kill_after(const std::filesystem::path& file, int count, int round) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    write_until_killed(file, ends[1], round);
  }
  ::close(ends[1]);
  std::vector<int> acknowledged;
  int number = 0;
  while (::read(ends[0], &number, sizeof number) == sizeof number) {
    acknowledged.push_back(number);
    if (static_cast<int>(acknowledged.size()) == count) ::kill(child, SIGKILL);
  }
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  return acknowledged;
}

TEST(Kill, LosesNothingThatWasAcknowledged) {
  TempFolder folder;
  const auto file = folder / "lathe.db";
  std::vector<int> acknowledged;
  for (int round = 1; round <= 10; ++round) {
    const auto more = kill_after(file, 37 * round, round);
    EXPECT_GE(static_cast<int>(more.size()), 37 * round);
    acknowledged.insert(acknowledged.end(), more.begin(), more.end());
    HomeThread home;
    const auto database = base::value_or_throw(Database::open(file, home));  // checks integrity: the stop was unclean
    wait(home, database->read([&](Connection& connection) {
      for (const int number : acknowledged) {
        const auto run = runs::find(connection, {std::to_string(number)});
        ASSERT_TRUE(run) << "run " << number << " was acknowledged and is gone";
        ASSERT_EQ(events::list_after(connection, run->sequence, 0, 1000).size(), 1u) << "a half transaction";
      }
    }));
  }
  EXPECT_TRUE(check_database(file).has_value());
}

}  // namespace
}  // namespace lathe::db

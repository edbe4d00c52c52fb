// A database of Lathe 0.1 gets its checksums, whatever comes between.
#include "db/page_conversion.h"

#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "db/backup.h"
#include "db/database.h"
#include "db/meta.h"
#include "db/test_support.h"

namespace lathe::db {
namespace {

namespace fs = std::filesystem;

// Schema and pages as Lathe 0.1 wrote them.
constexpr int kVersionOfFirstRelease = 8;

std::string runs_of(Connection& connection) {
  std::string all;
  Statement row = connection.prepare("SELECT sequence, id, spec_json FROM runs ORDER BY sequence");
  while (row.step()) all += fmt::format("{} {} {}\n", row.integer(0), row.text(1), row.text(2));
  return all;
}

std::string make_old(const fs::path& file) {
  Connection connection(file, Connection::Mode::unsealed_copy);
  migrate(connection, migrations().first(kVersionOfFirstRelease));
  for (int i = 0; i < 40; ++i) add_run(connection, make_run(fmt::format("run {}", i)));
  connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  return runs_of(connection);
}

std::string runs_and_checksums(const fs::path& file) {
  Connection connection(file, Connection::Mode::read_only);
  EXPECT_TRUE(connection.has_checksums());
  return runs_of(connection);
}

TEST(PageConversion, GivesAnOldDatabaseChecksumsAndKeepsItsRows) {
  TempFolder folder;
  const auto file = folder / "lathe.db";
  const std::string rows = make_old(file);
  HomeThread home;
  base::value_or_throw(Database::open(file, home))->stop();
  EXPECT_EQ(runs_and_checksums(file), rows);
  EXPECT_TRUE(check_database(file).has_value());
  EXPECT_FALSE(fs::exists(file.string() + ".sealed"));
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// The machine's file layer, which kills the process at the N-th call that changes a file.
class KillingDisk {
 public:
  explicit KillingDisk(int calls) {
    left_ = calls;
    real_vfs_ = sqlite3_vfs_find(nullptr);
    vfs_ = *real_vfs_;
    vfs_.zName = "killing";
    vfs_.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
      const int code = real_vfs_->xOpen(real_vfs_, name, file, flags, out);
      if (code == SQLITE_OK && file->pMethods != nullptr) patch(file);
      return code;
    };
    vfs_.xDelete = [](sqlite3_vfs*, const char* name, int sync) {
      count();
      return real_vfs_->xDelete(real_vfs_, name, sync);
    };
    sqlite3_vfs_register(&vfs_, 1);
  }

 private:
  static void count() {
    if (--left_ == 0) ::kill(::getpid(), SIGKILL);
  }
  // One table of functions is enough: every file of this process is locked in the same way.
  static void patch(sqlite3_file* file) {
    if (real_ == nullptr) real_ = file->pMethods;
    static sqlite3_io_methods patched;
    patched = *real_;
    patched.xWrite = [](sqlite3_file* f, const void* data, int size, sqlite3_int64 offset) {
      count();
      return real_->xWrite(f, data, size, offset);
    };
    patched.xSync = [](sqlite3_file* f, int flags) {
      count();
      return real_->xSync(f, flags);
    };
    patched.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) {
      count();
      return real_->xTruncate(f, size);
    };
    if (file->pMethods == real_) file->pMethods = &patched;
  }
  static inline int left_ = 0;
  static inline sqlite3_vfs* real_vfs_ = nullptr;
  static inline const sqlite3_io_methods* real_ = nullptr;
  sqlite3_vfs vfs_{};
};

// True when it came to its end before the kill.
bool opened_before_kill(const fs::path& file, int calls) {
  const pid_t child = ::fork();
  if (child == 0) {
    static KillingDisk disk(calls);
    HomeThread home;
    base::value_or_throw(Database::open(file, home));
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  return WIFEXITED(status);
}

TEST(PageConversion, GoesOnAfterAKillAtAnyMoment) {
  TempFolder folder;
  const auto old = folder / "old.db", file = folder / "lathe.db";
  const std::string rows = make_old(old);
  int kills = 0;
  for (int calls = 1;; calls += 3) {
    fs::copy_file(old, file, fs::copy_options::overwrite_existing);
    if (opened_before_kill(file, calls)) break;
    ++kills;
    HomeThread home;
    base::value_or_throw(Database::open(file, home))->stop();
    ASSERT_EQ(runs_and_checksums(file), rows) << "killed at call " << calls;
    ASSERT_FALSE(fs::exists(file.string() + ".sealed"));
  }
  EXPECT_GT(kills, 20);
}

TEST(PageConversion, WithoutRoomSaysSoAndChangesNothing) {
  TempFolder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=8m") != 0) GTEST_SKIP() << "mounting needs root";
  struct Unmount {
    fs::path at;
    ~Unmount() { ::umount2(at.c_str(), MNT_DETACH); }
  } unmount{folder.path()};
  const auto file = folder / "lathe.db";
  const std::string rows = make_old(file);
  HomeThread home;
  {
    std::ofstream filler(folder / "filler");
    filler << std::string(fs::space(folder.path()).available - (700 << 10), 'f');
  }
  const auto opened = Database::open(file, home);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code(), base::Code::no_space);
  EXPECT_NE(opened.error().message().find("MiB are free"), std::string::npos) << opened.error().text();
  fs::remove(folder / "filler");
  Connection connection(file, Connection::Mode::read_only);
  EXPECT_EQ(runs_of(connection), rows);
}

TEST(PageConversion, WaitsForNobodyWhoReads) {
  TempFolder folder;
  const auto file = folder / "lathe.db";
  const std::string rows = make_old(file);
  // Another process that reads, as `lathe backup` does.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t reader = ::fork();
  if (reader == 0) {
    Connection connection(file, Connection::Mode::read_only);
    connection.execute("BEGIN");
    runs_of(connection);
    if (::write(ends[1], "r", 1) != 1) ::_exit(1);
    ::pause();
  }
  char ready = 0;
  ASSERT_EQ(::read(ends[0], &ready, 1), 1);
  HomeThread home;
  const auto opened = Database::open(file, home);
  ::kill(reader, SIGKILL);
  ::waitpid(reader, nullptr, 0);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code(), base::Code::unavailable) << opened.error().text();
  base::value_or_throw(Database::open(file, home))->stop();
  EXPECT_EQ(runs_and_checksums(file), rows);
}

TEST(PageConversion, ABackupOfAnOldDatabaseIsOneToo) {
  TempFolder folder;
  const std::string rows = make_old(folder / "lathe.db");
  ASSERT_TRUE(backup_database(folder / "lathe.db", folder / "copy.db").has_value());
  Connection copy(folder / "copy.db", Connection::Mode::read_only);
  EXPECT_FALSE(copy.has_checksums());
  EXPECT_EQ(runs_of(copy), rows);
}

// What checksums cannot see: pages that are whole and do not belong together.
struct AfterAKill : ::testing::Test {
  TempFolder folder;
  HomeThread home;
  fs::path file = folder / "lathe.db";
  void SetUp() override {
    base::value_or_throw(Database::open(file, home))->stop();
    Connection connection(file, Connection::Mode::read_write);
    add_run(connection, make_run("a"));
    set_stopped(connection, false);
  }
};

TEST_F(AfterAKill, TheWholeFileIsCheckedWhileTheServerWorks) {
  {
    Connection connection(file, Connection::Mode::read_write);
    connection.execute("PRAGMA foreign_keys=OFF; DELETE FROM workspaces");
  }
  auto database = base::value_or_throw(Database::open(file, home));
  std::promise<base::Code> fatal;
  home.post([&] { database->on_fatal([&](const base::Error& error) { fatal.set_value(error.code()); }); });
  EXPECT_EQ(get_soon(fatal.get_future()), base::Code::corrupt);
  database->stop();
  Connection connection(file, Connection::Mode::read_only);
  EXPECT_FALSE(stopped_cleanly(connection)) << "the next start looks again";
}

TEST_F(AfterAKill, ACheckThatFindsNothingIsNotRepeated) {
  auto database = base::value_or_throw(Database::open(file, home));
  EXPECT_TRUE(eventually([&] { return database->checked(); }));
  database->stop();
  Connection connection(file, Connection::Mode::read_only);
  EXPECT_TRUE(stopped_cleanly(connection));
}

TEST_F(AfterAKill, DamageThatAReaderMeetsStopsTheServer) {
  auto database = base::value_or_throw(Database::open(file, home));
  std::promise<base::Code> fatal;
  home.post([&] { database->on_fatal([&](const base::Error& error) { fatal.set_value(error.code()); }); });
  wait(home, database->write([](Connection& connection) { connection.execute("PRAGMA user_version"); }));
  {
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    for (auto page = 1; page < static_cast<int>(fs::file_size(file) / 4096); ++page) {
      stream.seekp(page * 4096 + 3000);
      stream.put('#');
    }
  }
  EXPECT_EQ(code_of([&] {
              wait(home, database->read([](Connection& connection) {
                connection.execute("SELECT * FROM runs, experiments, workspaces, environments, models");
                connection.execute("SELECT * FROM audit; SELECT * FROM events; SELECT * FROM datasets");
              }));
            }),
            base::Code::corrupt);
  EXPECT_EQ(get_soon(fatal.get_future()), base::Code::corrupt);
}

}  // namespace
}  // namespace lathe::db

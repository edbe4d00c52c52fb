#include "db/backup.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "db/audit.h"
#include "db/database.h"
#include "db/test_support.h"

namespace lathe::db {
namespace {

struct Backup : ::testing::Test {
  TempFolder folder;
  HomeThread home;
  std::unique_ptr<Database> database = base::value_or_throw(Database::open(folder / "lathe.db", home));

  void submit(int number) {
    wait(home, database->write([number](Connection& connection) {
      const auto run = add_run(connection, make_run(std::to_string(number)));
      audit::append(connection, {.at = run.created,
                                 .actor = "a",
                                 .token_id = 0,
                                 .source = "",
                                 .action = "run.submit",
                                 .object = run.id.value,
                                 .detail = ""});
    }));
  }
};

int backup_in_another_process(const std::filesystem::path& file, const std::filesystem::path& target) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(backup_database(file, target).has_value() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(Backup, HoldsWhatWasCommittedBeforeItWhileTheServerGoesOn) {
  for (int i = 0; i < 100; ++i) submit(i);
  std::atomic<bool> enough = false;
  std::thread busy([&] {
    for (int i = 100; !enough; ++i) submit(i);
  });
  EXPECT_EQ(backup_in_another_process(folder / "lathe.db", folder / "copy.db"), 0);
  enough = true;
  busy.join();
  const auto report = check_database(folder / "copy.db");
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_GE(report->runs, 100);
  EXPECT_EQ(report->runs, report->audit_rows) << "a copy as of one moment";
  EXPECT_FALSE(std::filesystem::exists(folder / "copy.db.partial"));
}

TEST_F(Backup, OpensAsADatabase) {
  submit(1);
  ASSERT_TRUE(backup_database(folder / "lathe.db", folder / "copy.db").has_value());
  const auto copy = base::value_or_throw(Database::open(folder / "copy.db", home));
  EXPECT_TRUE(wait(home, copy->read([](Connection& connection) { return runs::find(connection, {"1"}).has_value(); })));
}

TEST_F(Backup, NeverReplacesAFile) {
  std::ofstream(folder / "copy.db") << "mine";
  const auto result = backup_database(folder / "lathe.db", folder / "copy.db");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), base::Code::conflict);
  EXPECT_EQ(std::filesystem::file_size(folder / "copy.db"), 4u);
}

TEST_F(Backup, LeavesNothingBehindWhenItFails) {
  EXPECT_FALSE(backup_database(folder / "none.db", folder / "copy.db").has_value());
  EXPECT_FALSE(backup_database(folder / "lathe.db", folder.path() / "none" / "copy.db").has_value());
  EXPECT_FALSE(std::filesystem::exists(folder / "copy.db"));
  EXPECT_FALSE(std::filesystem::exists(folder / "copy.db.partial"));
}

TEST_F(Backup, CheckFindsABrokenAuditTrail) {
  submit(1);
  submit(2);
  database.reset();
  EXPECT_EQ(check_database(folder / "lathe.db")->audit_rows, 2);
  {
    Connection connection(folder / "lathe.db", Connection::Mode::read_write);
    connection.execute("UPDATE audit SET actor = 'b' WHERE id = 1");
  }
  EXPECT_EQ(check_database(folder / "lathe.db").error().code(), base::Code::corrupt);
}

TEST_F(Backup, CheckFindsARowWithoutItsParent) {
  submit(1);
  database.reset();
  {
    Connection connection(folder / "lathe.db", Connection::Mode::read_write);
    connection.execute("PRAGMA foreign_keys=OFF; DELETE FROM workspaces");
  }
  EXPECT_EQ(check_database(folder / "lathe.db").error().code(), base::Code::corrupt);
}

TEST_F(Backup, CheckSaysThatAnotherSchemaIsNotKnown) {
  database.reset();
  {
    Connection connection(folder / "lathe.db", Connection::Mode::read_write);
    connection.execute("PRAGMA user_version=99");
  }
  EXPECT_EQ(check_database(folder / "lathe.db").error().code(), base::Code::unsupported);
}

}  // namespace
}  // namespace lathe::db

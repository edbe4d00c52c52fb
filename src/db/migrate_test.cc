#include "db/migrate.h"

#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "db/attempts.h"
#include "db/test_support.h"

namespace lathe::db {
namespace {

// Comments and white space aside, what each object was made with.
std::map<std::string, std::string> objects(Connection& connection) {
  std::map<std::string, std::string> found;
  Statement row = connection.prepare("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_master");
  while (row.step()) {
    std::string text;
    const std::string sql = row.text(1);
    for (std::size_t i = 0; i < sql.size(); ++i) {
      if (sql.compare(i, 2, "--") == 0) i = std::min(sql.find('\n', i), sql.size() - 1);
      if (std::isspace(static_cast<unsigned char>(sql[i])) == 0) text += sql[i];
    }
    found[row.text(0)] = text;
  }
  return found;
}

TEST(Migrations, TogetherGiveExactlyTheSchemaFile) {
  TempFolder folder;
  Connection migrated(folder / "a.db", Connection::Mode::read_write);
  migrate(migrated);
  Connection direct(folder / "b.db", Connection::Mode::read_write);
  direct.execute(std::string(schema_text()));
  EXPECT_EQ(objects(migrated), objects(direct));
  EXPECT_EQ(schema_version(migrated), static_cast<int>(migrations().size()));
}

// The run 'a' as the first version wrote it.
void add_run_of_first_version(Connection& connection) {
  connection.execute(
      "INSERT INTO workspaces VALUES ('ws', '', '', 1);"
      "INSERT INTO runs (id, workspace, experiment, compute, state, terminal, generation, spec_json, spec_digest, "
      "attempt,"
      " infrastructure_failures, user_failures, notes_json, usage_json, created, late, archived, submitted_by) VALUES"
      " ('a', 'ws', 'e', 'local', 'Completed', 1, 1, '{\"properties\":{\"git\":\"main\",\"ü\":\"\"}}', x'00', 0, 0, 0,"
      " '[]', '{}', 1, 0, 0, 'me')");
}

TEST(Migrations, KeepTheAttemptsOfTheFirstVersion) {
  TempFolder folder;
  Connection connection(folder / "a.db", Connection::Mode::read_write);
  migrate(connection, migrations().first(1));
  add_run_of_first_version(connection);
  connection.execute("INSERT INTO attempts VALUES (1, 1, zeroblob(32), '[]', '', 7, 8, NULL, 0, 'none', NULL)");
  migrate(connection);
  const auto found = attempts::find(connection, 1, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->placed.micros, 7);
  EXPECT_EQ(found->claimed, base::UtcTime{8});
  EXPECT_EQ(found->ended, std::nullopt);
}

TEST(Migrations, DoNothingTheSecondTime) {
  TempFolder folder;
  Connection connection(folder / "a.db", Connection::Mode::read_write);
  migrate(connection);
  int steps = 0;
  migrate(connection, migrations(), [&](int) { ++steps; });
  EXPECT_EQ(steps, 0);
}

TEST(Migrations, RunsOfTheFirstVersionAreFoundByTheirProperties) {
  TempFolder folder;
  Connection connection(folder / "a.db", Connection::Mode::read_write);
  migrate(connection, migrations().first(1));
  add_run_of_first_version(connection);
  migrate(connection);
  Statement row = connection.prepare("SELECT run, key, value FROM run_properties ORDER BY key");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.integer(0), 1);
  EXPECT_EQ(row.text(1), "git");
  EXPECT_EQ(row.text(2), "main");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.text(1), "ü");
  EXPECT_FALSE(row.step());
}

TEST(Migrations, RefuseANewerDatabaseAndSayWhatToDo) {
  TempFolder folder;
  Connection connection(folder / "a.db", Connection::Mode::read_write);
  migrate(connection);
  connection.execute("PRAGMA user_version=99");
  try {
    migrate(connection);
    FAIL() << "a newer database was accepted";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Code::unsupported);
    EXPECT_EQ(error.message(),
              fmt::format("this database was written by a newer Lathe (schema 99, this program knows {})",
                          migrations().size()));
    EXPECT_NE(error.hint(), "");
  }
}

TEST(Migrations, RefuseTheDatabaseOfAnotherProgram) {
  TempFolder folder;
  Connection connection(folder / "a.db", Connection::Mode::read_write);
  connection.execute("CREATE TABLE recipes (name TEXT)");
  EXPECT_EQ(code_of([&] { migrate(connection); }), base::Code::unsupported);
  EXPECT_EQ(schema_version(connection), 0);
}

TEST(Migrations, RefuseToLoseTheParentsOfRows) {
  constexpr Migration kSteps[] = {{"1",
                                   "CREATE TABLE p (a INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p(a)); INSERT "
                                   "INTO p VALUES (1); INSERT INTO c VALUES (1)"},
                                  {"2", "DELETE FROM p"}};
  TempFolder folder;
  Connection connection(folder / "a.db", Connection::Mode::read_write);
  EXPECT_EQ(code_of([&] { migrate(connection, kSteps); }), base::Code::corrupt);
  EXPECT_EQ(schema_version(connection), 1);
}

constexpr Migration kTwoSteps[] = {{"1", "CREATE TABLE a (x); INSERT INTO a VALUES (1)"},
                                   {"2", "CREATE TABLE b (x); INSERT INTO b SELECT x FROM a; DROP TABLE a"}};

// Migrates in a child that dies without cleaning up, inside the transaction of `version`.
void die_in_migration(const std::filesystem::path& file, int version) {
  const pid_t child = ::fork();
  if (child == 0) {
    Connection connection(file, Connection::Mode::read_write);
    migrate(connection, kTwoSteps, [&](int at) {
      if (at == version) ::kill(::getpid(), SIGKILL);
    });
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(Migrations, LeaveTheOldVersionWhenKilledInTheMiddle) {
  for (const int version : {1, 2}) {
    TempFolder folder;
    die_in_migration(folder / "a.db", version);
    Connection connection(folder / "a.db", Connection::Mode::read_write);
    EXPECT_EQ(schema_version(connection), version - 1);
    EXPECT_EQ(objects(connection).size(), version == 1 ? 0u : 1u);
    migrate(connection, kTwoSteps);
    EXPECT_EQ(schema_version(connection), 2);
    EXPECT_TRUE(connection.prepare("SELECT 1 FROM b WHERE x = 1").step());
  }
}

}  // namespace
}  // namespace lathe::db

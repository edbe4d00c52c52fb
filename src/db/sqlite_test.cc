#include "db/sqlite.h"

#include <sys/stat.h>

#include <fstream>

#include "db/test_support.h"

namespace lathe::db {
namespace {

struct Sqlite : ::testing::Test {
  TempFolder folder;
  Connection connection{folder / "a.db", Connection::Mode::read_write};
  Sqlite() { connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE, c BLOB, d REAL) STRICT"); }
};

TEST_F(Sqlite, ReturnsEveryKindOfValueAsItWasBound) {
  const base::Digest digest = base::sha256("x");
  const std::string text("with\0nul and ü", 15);
  connection.prepare("INSERT INTO t VALUES (?, ?, ?, ?)").bind_all(std::int64_t{7}, text, digest, 1.5).run();
  connection.prepare("INSERT INTO t VALUES (?, ?, ?, ?)")
      .bind_all(8, std::string_view(), std::optional<base::Digest>(), std::optional<double>())
      .run();
  Statement row = connection.prepare("SELECT a, b, c, d FROM t ORDER BY a");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.integer(0), 7);
  EXPECT_EQ(row.text(1), text);
  EXPECT_EQ(row.digest(2), digest);
  EXPECT_EQ(row.real(3), 1.5);
  ASSERT_TRUE(row.step());
  EXPECT_FALSE(row.is_null(1)) << "an empty text is not NULL";
  EXPECT_FALSE(row.step());
}

TEST_F(Sqlite, KeepsTwoUsesOfTheSameTextApart) {
  for (int i = 1; i <= 3; ++i) connection.prepare("INSERT INTO t (a) VALUES (?)").bind(i).run();
  int pairs = 0;
  Statement outer = connection.prepare("SELECT a FROM t");
  while (outer.step()) {
    Statement inner = connection.prepare("SELECT a FROM t");
    while (inner.step()) ++pairs;
  }
  EXPECT_EQ(pairs, 9);
}

TEST_F(Sqlite, ForgetsBindingsBetweenUses) {
  connection.prepare("INSERT INTO t (a, b) VALUES (?, ?)").bind_all(1, "one").run();
  connection.prepare("INSERT INTO t (a, b) VALUES (?, ?)").bind(2).run();
  Statement row = connection.prepare("SELECT b FROM t WHERE a = 2");
  ASSERT_TRUE(row.step());
  EXPECT_TRUE(row.is_null(0));
}

TEST_F(Sqlite, CallsABrokenConstraintAConflict) {
  connection.prepare("INSERT INTO t (b) VALUES ('x')").run();
  EXPECT_EQ(code_of([&] { connection.prepare("INSERT INTO t (b) VALUES ('x')").run(); }), base::Code::conflict);
  EXPECT_FALSE(connection.broken());
}

TEST_F(Sqlite, CallsAFullDatabaseNoSpace) {
  connection.execute("PRAGMA max_page_count=4");
  const std::string large(100'000, 'x');
  EXPECT_EQ(code_of([&] { connection.prepare("INSERT INTO t (b) VALUES (?)").bind(large).run(); }),
            base::Code::no_space);
  EXPECT_FALSE(connection.broken()) << "a full disk is not damage";
}

TEST_F(Sqlite, CallsALockedDatabaseUnavailable) {
  Connection other(folder / "a.db", Connection::Mode::read_write);
  other.execute("PRAGMA busy_timeout=0; BEGIN IMMEDIATE");
  connection.execute("PRAGMA busy_timeout=0");
  EXPECT_EQ(code_of([&] { connection.execute("BEGIN IMMEDIATE"); }), base::Code::unavailable);
}

TEST_F(Sqlite, CallsAForeignFileCorrupt) {
  std::ofstream(folder / "b.db") << std::string(8192, 'z');
  EXPECT_EQ(code_of([&] { Connection(folder / "b.db", Connection::Mode::read_write); }), base::Code::corrupt);
}

TEST_F(Sqlite, RefusesToWriteThroughAReader) {
  Connection reader(folder / "a.db", Connection::Mode::read_only);
  EXPECT_EQ(code_of([&] { reader.prepare("INSERT INTO t (a) VALUES (1)").run(); }), base::Code::forbidden);
}

TEST_F(Sqlite, SaysThatAMissingFileIsNotFound) {
  EXPECT_EQ(code_of([&] { Connection(folder / "none.db", Connection::Mode::read_only); }), base::Code::not_found);
  EXPECT_EQ(code_of([&] { Connection(folder.path() / "no" / "b.db", Connection::Mode::read_write); }),
            base::Code::not_found);
}

TEST_F(Sqlite, LetsNobodyElseReadTheFile) {
  struct stat status{};
  ASSERT_EQ(::stat((folder / "a.db").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((folder / "a.db-wal").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(Sqlite, RollsATransactionBackWhenItsWorkThrows) {
  EXPECT_THROW(transaction(connection,
                           [](Connection& open) {
                             open.prepare("INSERT INTO t (a) VALUES (1)").run();
                             throw base::Error(base::Code::invalid, "no");
                           }),
               base::Error);
  EXPECT_FALSE(connection.in_transaction());
  EXPECT_FALSE(connection.prepare("SELECT 1 FROM t").step());
}

}  // namespace
}  // namespace lathe::db

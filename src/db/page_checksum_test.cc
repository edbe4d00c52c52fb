// A flipped byte of the database is reported, or what is read is the same.
#include "db/page_checksum.h"

#include <sqlite3.h>

#include <fstream>
#include <random>

#include "db/backup.h"
#include "db/checked_vfs.h"
#include "db/log_check.h"
#include "db/test_support.h"

namespace lathe::db {
namespace {

namespace fs = std::filesystem;

void flip(const fs::path& file, std::int64_t offset, unsigned char bits = 0x01) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekg(offset);
  const int byte = stream.get();
  stream.seekp(offset);
  stream.put(static_cast<char>(byte ^ bits));
}

// Several pages: rows, an index, an overflow page, free pages.
void fill(Connection& connection) {
  connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT, number REAL); CREATE INDEX i ON t (text)");
  for (int row = 0; row < 120; ++row) {
    connection.prepare("INSERT INTO t (text, number) VALUES (?, ?)")
        .bind_all(fmt::format("row {} {}", row, std::string(row == 7 ? 9000 : 40, 'x')), row * 0.5)
        .run();
  }
  connection.execute("DELETE FROM t WHERE id BETWEEN 90 AND 120");
}

std::string content(Connection& connection) {
  std::string all;
  Statement row = connection.prepare("SELECT id, text, number FROM t ORDER BY id");
  while (row.step()) all += fmt::format("{} {} {}\n", row.integer(0), row.text(1), row.real(2));
  Statement by_index = connection.prepare("SELECT text FROM t ORDER BY text");
  while (by_index.step()) all += by_index.text(0) + "\n";
  return all;
}

// "damaged", or what is read.
std::string read_or_damage(const fs::path& file) {
  try {
    check_log(file);
    Connection connection(file, Connection::Mode::read_only);
    return content(connection);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Code::corrupt) << error.text();
    return "damaged";
  }
}

struct Pages : ::testing::Test {
  TempFolder folder;
  fs::path file = folder / "a.db";
  std::string right;

  void SetUp() override {
    Connection connection(file, Connection::Mode::read_write);
    fill(connection);
    right = content(connection);
  }
  // As a kill leaves it: with a log that was not yet brought into the file.
  fs::path killed_copy() {
    Connection connection(file, Connection::Mode::read_write);
    for (int i = 0; i < 6; ++i)
      connection.execute(fmt::format("UPDATE t SET number = number + 1 WHERE id % 6 = {}", i));
    right = content(connection);
    for (const char* suffix : {"", "-wal", "-shm"})
      fs::copy_file(file.string() + suffix, (folder / "killed.db").string() + suffix,
                    fs::copy_options::overwrite_existing);
    return folder / "killed.db";
  }
};

TEST_F(Pages, AllHaveTheirChecksumInTheFile) {
  ASSERT_EQ(fs::file_size(file) % kPageSize, 0u);
  std::ifstream stream(file, std::ios::binary);
  std::vector<unsigned char> page(kPageSize);
  std::uint32_t number = 0;
  while (stream.read(reinterpret_cast<char*>(page.data()), kPageSize)) {
    ++number;
    EXPECT_TRUE(is_whole_page(page.data(), number)) << number;
    EXPECT_FALSE(is_whole_page(page.data(), number + 1)) << "a page in the wrong place";
  }
  EXPECT_GT(number, 5u);
}

TEST_F(Pages, EveryFlippedByteOfTheFirstPageIsFoundOrHarmless) {
  for (int offset = 0; offset < kPageSize; ++offset) {
    const auto bits = static_cast<unsigned char>(offset % 3 == 0 ? 0xff : 1 << (offset % 8));
    flip(file, offset, bits);
    const std::string found = read_or_damage(file);
    EXPECT_TRUE(found == "damaged" || found == right) << "byte " << offset;
    flip(file, offset, bits);
  }
  EXPECT_EQ(read_or_damage(file), right);
}

TEST_F(Pages, FlippedBytesAnywhereAreFoundOrHarmless) {
  std::mt19937 chance(42);
  int found_damaged = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto offset = static_cast<std::int64_t>(chance() % fs::file_size(file));
    const auto bits = static_cast<unsigned char>(1 + chance() % 255);
    flip(file, offset, bits);
    const std::string found = read_or_damage(file);
    EXPECT_TRUE(found == "damaged" || found == right) << "byte " << offset;
    found_damaged += found == "damaged" ? 1 : 0;
    flip(file, offset, bits);
  }
  EXPECT_GT(found_damaged, 1000) << "only free pages are never read";
}

TEST_F(Pages, TheMessageNamesPageAndFileAndWhatToDo) {
  flip(file, kPageSize + 100);
  try {
    Connection connection(file, Connection::Mode::read_only);
    content(connection);
    FAIL() << "nothing was noticed";
  } catch (const base::Error& error) {
    EXPECT_NE(error.message().find("page 2 of " + file.string()), std::string::npos) << error.message();
    EXPECT_NE(error.hint().find("lathe restore"), std::string::npos);
  }
}

TEST_F(Pages, FlippedBytesOfALogAreFoundOrHarmless) {
  const fs::path killed = killed_copy();
  const fs::path pristine = folder / "pristine";
  fs::create_directory(pristine);
  for (const char* suffix : {"", "-wal", "-shm"}) fs::copy(killed.string() + suffix, pristine);
  ASSERT_EQ(read_or_damage(killed), right);
  const auto log_size = static_cast<std::int64_t>(fs::file_size(killed.string() + "-wal"));
  std::mt19937 chance(7);
  int found_damaged = 0;
  for (int i = 0; i < 400; ++i) {
    for (const char* suffix : {"", "-wal", "-shm"})
      fs::copy(pristine / ("killed.db" + std::string(suffix)), folder.path(), fs::copy_options::overwrite_existing);
    const std::int64_t offset = i < 56 ? i : static_cast<std::int64_t>(chance() % log_size);
    flip(killed.string() + "-wal", offset, static_cast<unsigned char>(1 + chance() % 255));
    const std::string found = read_or_damage(killed);
    EXPECT_TRUE(found == "damaged" || found == right) << "byte " << offset;
    found_damaged += found == "damaged" ? 1 : 0;
  }
  EXPECT_GT(found_damaged, 350);
}

TEST_F(Pages, APageOfTheLogIsCheckedWhenItIsReadNotOnlyWhenTheLogIsReplayed) {
  Connection writer(file, Connection::Mode::read_write);
  writer.execute("UPDATE t SET number = number + 1");
  flip(file.string() + "-wal", 32 + 24 + 2000);
  Connection reader(file, Connection::Mode::read_only);  // finds the index of the writer: replays nothing
  EXPECT_EQ(code_of([&] { content(reader); }), base::Code::corrupt);
}

TEST_F(Pages, ATornEndOfTheLogIsNoDamage) {
  const fs::path killed = killed_copy();
  std::ofstream log(killed.string() + "-wal", std::ios::binary | std::ios::app);
  log << std::string(3000, 'z');
  log.close();
  EXPECT_EQ(read_or_damage(killed), right);
}

// Pages of one transaction that do not fit into memory are written to the log and written again there.
TEST_F(Pages, ATransactionLargerThanTheMemoryReadsItsOwnPages) {
  Connection connection(file, Connection::Mode::read_write);
  connection.execute("PRAGMA cache_size=10");
  transaction(connection, [](Connection& open) {
    for (int round = 0; round < 4; ++round) {
      open.execute("INSERT INTO t (text, number) SELECT hex(randomblob(600)), id FROM t LIMIT 60");
      open.execute("UPDATE t SET number = number + 1");
    }
  });
  right = content(connection);
  connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  EXPECT_EQ(read_or_damage(file), right);
}

TEST_F(Pages, PlainSqliteReadsTheFile) {
  sqlite3* plain = nullptr;
  ASSERT_EQ(sqlite3_open_v2(file.c_str(), &plain, SQLITE_OPEN_READONLY, "unix"), SQLITE_OK);
  int rows = 0;
  sqlite3_exec(
      plain, "SELECT id FROM t",
      [](void* count, int, char**, char**) {
        ++*static_cast<int*>(count);
        return 0;
      },
      &rows, nullptr);
  sqlite3_close(plain);
  EXPECT_EQ(rows, 89);
}

}  // namespace
}  // namespace lathe::db

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cas/store_layout.h"
#include "cas/tree.h"
#include "cli/command_line.h"
#include "cli/references.h"
#include "db/artifacts.h"
#include "db/test_support.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

// A state folder with one run: its snapshot of one file, and one artifact.
class BackupTest : public ::testing::Test {
 protected:
  BackupTest() {
    fs::create_directories(state_ / "store");
    db::Connection connection(state_ / "lathe.db", db::Connection::Mode::read_write);
    db::migrate(connection);
    auto run = db::make_run("r1");
    run.spec.snapshot = base::sha256(manifest_);
    auto stored = db::add_run(connection, run);
    std::vector<db::artifacts::Artifact> files{
        {.path = "outputs/model", .digest = base::sha256("model"), .size = 5, .updated = {1}}};
    db::artifacts::upsert(connection, stored.sequence, files);
    for (const auto& bytes : {manifest_, std::string("print(1)"), std::string("model")}) put(bytes);
  }

  fs::path blob(const std::string& bytes) const {
    return cas::StoreLayout((state_ / "store").string()).blob(base::sha256(bytes));
  }
  void put(const std::string& bytes) {
    fs::create_directories(blob(bytes).parent_path());
    std::ofstream(blob(bytes), std::ios::binary) << bytes;
  }
  static int lathe(std::vector<std::string> words) {
    std::vector<const char*> pointers;
    for (const auto& word : words) pointers.push_back(word.c_str());
    return run_command_line(pointers, {});
  }
  int backup() { return lathe({"backup", target_, "--state", state_}); }

  db::TempFolder folder_;
  const fs::path state_ = folder_ / "state", target_ = folder_ / "backup", restored_ = folder_ / "restored";
  const std::string manifest_ = cas::encode_tree(
      {{{.path = "train.py", .digest = base::sha256("print(1)"), .size = 8, .executable = false, .link_target = ""}}});
};

TEST_F(BackupTest, IsRestoredWithEverythingThatItsDatabaseNames) {
  ASSERT_EQ(backup(), 0);
  ASSERT_EQ(backup(), 0) << "an earlier backup is brought up to date";
  EXPECT_EQ(lathe({"restore", target_, "--state", restored_}), 0);
  EXPECT_TRUE(fs::exists(restored_ / "lathe.db"));
}

TEST_F(BackupTest, ThatIsInterruptedDoesNotLookWholeAndCanBeRepeated) {
  ASSERT_EQ(backup(), 0);
  fs::rename(state_ / "lathe.db", state_ / "kept");
  std::ofstream(state_ / "lathe.db") << "this is no database";
  EXPECT_NE(backup(), 0);
  EXPECT_FALSE(fs::exists(target_ / "backup.json"));
  EXPECT_NE(lathe({"restore", target_, "--state", restored_}), 0);
  EXPECT_FALSE(fs::exists(restored_));
  fs::rename(state_ / "kept", state_ / "lathe.db");
  EXPECT_EQ(backup(), 0);
  EXPECT_TRUE(fs::exists(target_ / "backup.json"));
  EXPECT_FALSE(fs::exists(target_ / "backup.unfinished"));
}

TEST_F(BackupTest, WithoutABlobThatIsNamedIsNotRestored) {
  for (const auto& bytes : {std::string("model"), std::string("print(1)"), manifest_}) {
    fs::remove(blob(bytes));
    fs::remove_all(target_);
    ASSERT_EQ(backup(), 0);
    EXPECT_NE(lathe({"restore", target_, "--state", restored_}), 0) << bytes;
    EXPECT_FALSE(fs::exists(restored_));
    put(bytes);
  }
  EXPECT_TRUE(check_references(state_));
}

}  // namespace
}  // namespace lathe::cli

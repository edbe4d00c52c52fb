#include <array>

#include "db/blob_rights.h"
#include "db/datastores.h"
#include "db/deleted_runs.h"
#include "db/run_inputs.h"
#include "db/script_tokens.h"
#include "db/test_support.h"

namespace lathe::db {
namespace {

constexpr std::int64_t kDay = 86'400'000'000;

struct AccessTest : ::testing::Test {
  TempFolder folder;
  Connection connection{folder / "a.db", Connection::Mode::read_write};
  void SetUp() override { migrate(connection); }
};

TEST_F(AccessTest, IdsOfDeletedRunsAreKeptForAMonth) {
  deleted_runs::add(connection, {"a"}, {1 * kDay});
  deleted_runs::add(connection, {"b"}, {31 * kDay});
  EXPECT_TRUE(deleted_runs::contains(connection, {"a"}));
  deleted_runs::add(connection, {"c"}, {32 * kDay});
  EXPECT_FALSE(deleted_runs::contains(connection, {"a"}));
  EXPECT_TRUE(deleted_runs::contains(connection, {"b"}) && deleted_runs::contains(connection, {"c"}));
}

TEST_F(AccessTest, TheTokenOfAScriptGoesWithItsRun) {
  auto run = add_run(connection, make_run("a"));
  EXPECT_FALSE(script_tokens::find(connection, run.sequence, 1));
  script_tokens::put(connection, run.sequence, 1, base::sha256("t"));
  EXPECT_EQ(script_tokens::find(connection, run.sequence, 1), base::sha256("t"));
  connection.execute("DELETE FROM runs");
  EXPECT_FALSE(script_tokens::find(connection, run.sequence, 1));
}

TEST_F(AccessTest, AWorkspaceHasWhatItsTokensHaveSentForAMonth) {
  auto run = add_run(connection, make_run("a"));
  const std::array early{base::sha256("1"), base::sha256("2")};
  blob_rights::note_sent(connection, run.workspace, early, {1 * kDay});
  EXPECT_TRUE(blob_rights::was_sent(connection, run.workspace, early[0]));
  EXPECT_FALSE(blob_rights::was_sent(connection, "other", early[0]));
  blob_rights::note_sent(connection, run.workspace, std::span(early).first(1), {20 * kDay});
  blob_rights::note_sent(connection, run.workspace, std::span(early).first(0), {40 * kDay});
  EXPECT_TRUE(blob_rights::was_sent(connection, run.workspace, early[0])) << "the last time counts";
  EXPECT_FALSE(blob_rights::was_sent(connection, run.workspace, early[1]));
}

TEST_F(AccessTest, AWorkspaceNamesTheTreesOfItsRunsAndTheirInputs) {
  auto wish = make_run("a");
  wish.spec.snapshot = base::sha256("snapshot");
  auto run = add_run(connection, wish);
  model::ResolvedInput input;
  input.tree = base::sha256("input");
  run_inputs::put(connection, run.sequence, {{"data", input}, {"direct", {}}});
  for (const char* name : {"snapshot", "input"}) {
    EXPECT_TRUE(blob_rights::names_tree(connection, run.workspace, base::sha256(name))) << name;
    EXPECT_FALSE(blob_rights::names_tree(connection, "other", base::sha256(name))) << name;
  }
  EXPECT_FALSE(blob_rights::names_tree(connection, run.workspace, base::sha256("else")));
  EXPECT_EQ(blob_rights::trees_of_run(connection, "a").size(), 2u);
  EXPECT_TRUE(blob_rights::trees_of_run(connection, "b").empty());
}

TEST_F(AccessTest, AWorkspaceNamesTheFilesOfItsDatastores) {
  auto run = add_run(connection, make_run("a"));
  datastores::File file{"x", base::sha256("bytes"), 5, {7}, "a"};
  ASSERT_TRUE(datastores::put_file(connection, {run.workspace, "store"}, file, false));
  EXPECT_EQ(datastores::find_file(connection, {run.workspace, "store"}, "x"), file);
  EXPECT_TRUE(blob_rights::names_file(connection, run.workspace, base::sha256("bytes")));
  EXPECT_FALSE(blob_rights::names_file(connection, "other", base::sha256("bytes")));
}

TEST(AccessMigration, KeepsFilesWhoseWriterNobodyKnows) {
  TempFolder folder;
  Connection connection(folder / "a.db", Connection::Mode::read_write);
  migrate(connection, migrations().first(8));
  connection.execute(
      "INSERT INTO workspaces VALUES ('ws', '', '', 1);"
      "INSERT INTO datastore_files VALUES ('ws', 'store', 'x', zeroblob(32), 5, 7)");
  migrate(connection);
  auto file = datastores::find_file(connection, {"ws", "store"}, "x");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->written_by, std::nullopt);
}

}  // namespace
}  // namespace lathe::db

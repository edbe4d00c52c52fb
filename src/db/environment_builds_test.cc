// Locks, builds and the environments of runs as rows.
#include "db/environment_builds.h"

#include <algorithm>

#include "db/artifacts.h"
#include "db/environment_locks.h"
#include "db/run_environments.h"
#include "db/runs.h"
#include "db/test_support.h"

namespace lathe::db {
namespace {

const base::Digest kDefinition = base::sha256("definition"), kLock = base::sha256("lock"), kSdk = base::sha256("sdk");

struct BuiltEnvironments : Rows {
  BuiltEnvironments() {
    workspaces::insert_if_absent(connection, {"ws", "s", "g", {1}});
    environment_locks::put_definition(connection, kDefinition, "{}");
  }
  environment_builds::Build make(std::string workspace = "ws") {
    environment_builds::Build build;
    build.workspace = std::move(workspace);
    build.environment = "tf";
    build.version = "1";
    build.definition = build.key = kDefinition;
    build.created = {5};
    build.created_by = "ada";
    return build;
  }
  bool is_kept(const base::Digest& digest) {
    std::vector<base::Digest> kept;
    artifacts::visit_references(connection, [&](const base::Digest& each, bool) { kept.push_back(each); });
    return std::ranges::find(kept, digest) != kept.end();
  }
};

TEST_F(BuiltEnvironments, AreFoundAsTheyWereStored) {
  auto build = environment_builds::insert(connection, make());
  EXPECT_GT(build.id, 0);
  EXPECT_EQ(environment_builds::find(connection, "ws", build.id), build);
  EXPECT_EQ(environment_builds::find(connection, "other", build.id), std::nullopt);
  ASSERT_EQ(environment_builds::live(connection).size(), 1u);
  build.state = environment_builds::State::ready;
  build.lock = kLock;
  build.log = base::sha256("log");
  build.log_bytes = 3;
  build.started = base::UtcTime{6};
  build.ended = base::UtcTime{7};
  environment_builds::update(connection, build);
  EXPECT_EQ(environment_builds::find(connection, "ws", build.id), build);
  EXPECT_TRUE(environment_builds::live(connection).empty());
  EXPECT_TRUE(is_kept(*build.log)) << "its log is read after it";
}

TEST_F(BuiltEnvironments, AreListedNewestFirstAndByPages) {
  for (int i = 0; i < 3; ++i) environment_builds::insert(connection, make());
  auto first = environment_builds::list(connection, "ws", 2, "");
  ASSERT_EQ(first.items.size(), 2u);
  EXPECT_GT(first.items[0].id, first.items[1].id);
  auto rest = environment_builds::list(connection, "ws", 2, first.next.value());
  EXPECT_EQ(rest.items.size(), 1u);
  EXPECT_FALSE(rest.next);
}

TEST_F(BuiltEnvironments, AreTrimmedToTheNewestThatAreOver) {
  const auto other = base::sha256("other definition");
  environment_locks::put_definition(connection, other, "{}");
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 6; ++i) {
    auto build = make();
    if (i == 5) build.definition = other;
    build = environment_builds::insert(connection, build);
    ids.push_back(build.id);
    if (i == 1) continue;  // under way
    build.ended = base::UtcTime{7};
    environment_builds::update(connection, build);
  }
  auto run = add_run(connection, make_run("a"));
  run_environments::put(connection, run.sequence, {"tf", "1", kDefinition, kLock, ids[0], "[]"});
  EXPECT_EQ(environment_builds::trim(connection, "ws", kDefinition, 2), 1);
  auto is_there = [&](int i) { return environment_builds::find(connection, "ws", ids[i]).has_value(); };
  EXPECT_TRUE(is_there(0)) << "its log is a file of a run";
  EXPECT_TRUE(is_there(1)) << "it is under way";
  EXPECT_FALSE(is_there(2));
  EXPECT_TRUE(is_there(3) && is_there(4)) << "the newest";
  EXPECT_TRUE(is_there(5)) << "another definition";
  EXPECT_EQ(environment_builds::trim(connection, "ws", kDefinition, 2), 0);
}

TEST_F(BuiltEnvironments, KeepTheirLockAndWhatItNeeds) {
  EXPECT_FALSE(environment_locks::is_lock(connection, kLock));
  environment_locks::Locked locked{kLock, "[]", {9}, "ada"};
  environment_locks::put(connection, "ws", kDefinition, locked, {kSdk});
  EXPECT_EQ(environment_locks::find(connection, "ws", kDefinition), locked);
  EXPECT_EQ(environment_locks::find(connection, "ws", kLock), std::nullopt);
  EXPECT_TRUE(environment_locks::is_lock(connection, kLock));
  EXPECT_TRUE(is_kept(kLock) && is_kept(kSdk));
  locked.lock = base::sha256("another");
  environment_locks::put(connection, "ws", kDefinition, locked, {});
  EXPECT_EQ(environment_locks::find(connection, "ws", kDefinition), locked);
  EXPECT_FALSE(is_kept(kLock)) << "nothing names it any more";
  EXPECT_FALSE(is_kept(kSdk)) << "nor what only it needed";
}

TEST_F(BuiltEnvironments, OfARunKeepItsLockAsLongAsTheRun) {
  auto wish = make_run("a");
  wish.state = model::RunState::completed;
  auto run = add_run(connection, wish);
  run_environments::RunEnvironment environment{"tf", "1", kDefinition, kLock, 4, "[]"};
  run_environments::put(connection, run.sequence, environment);
  EXPECT_EQ(run_environments::find(connection, run.sequence), environment);
  EXPECT_TRUE(is_kept(kLock));
  run_environments::set_build(connection, run.sequence, 5);
  EXPECT_EQ(run_environments::find(connection, run.sequence)->build, 5);
  EXPECT_FALSE(run_environments::is_awaited(connection, 5)) << "the run is over";
  connection.execute("UPDATE runs SET terminal = 0");
  EXPECT_TRUE(run_environments::is_awaited(connection, 5));
  EXPECT_FALSE(run_environments::is_awaited(connection, 4));
  connection.execute("UPDATE runs SET terminal = 1");
  runs::remove(connection, run);
  EXPECT_FALSE(is_kept(kLock));
}

}  // namespace
}  // namespace lathe::db

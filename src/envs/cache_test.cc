#include "envs/cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "envs/file_lock.h"
#include "envs/install.h"
#include "envs/kept_files.h"
#include "envs/marker.h"
#include "support/temp_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

TEST(FileLock, IsHeldByOneAndSharedByMany) {
  support::TempFolder temp;
  const fs::path path = temp.path() / "locks" / "x";
  auto first = try_lock(path, LockKind::shared), second = try_lock(path, LockKind::shared);
  ASSERT_TRUE(first && *first && second && *second);
  EXPECT_FALSE(*try_lock(path, LockKind::exclusive));
  first->reset();
  second->reset();
  EXPECT_TRUE(*try_lock(path, LockKind::exclusive));
}

TEST(FileLock, IsWaitedForUntilItIsFreeOrNobodyWants) {
  support::TempFolder temp;
  const fs::path path = temp.path() / "x";
  auto held = try_lock(path, LockKind::exclusive);
  std::stop_source stop;
  auto given_up = wait_for_lock(path, LockKind::exclusive, [&] { stop.request_stop(); }, stop.get_token());
  ASSERT_FALSE(given_up);
  EXPECT_EQ(base::Code::cancelled, given_up.error().code());
  EXPECT_TRUE(wait_for_lock(path, LockKind::exclusive, [&] { held->reset(); }, {}));
}

TEST(Marker, IsReadBackAndDamageIsNoMarker) {
  support::TempFolder temp;
  EXPECT_FALSE(read_marker(temp.path()));
  Marker marker{base::sha256("lock"), {{"A", "b"}}, 3, 12};
  ASSERT_TRUE(write_marker(temp.path(), marker));
  auto read = read_marker(temp.path());
  ASSERT_TRUE(read);
  EXPECT_EQ(marker.lock, read->lock);
  EXPECT_EQ("b", read->variables.at("A"));
  EXPECT_EQ(12U, read->bytes);
  for (const char* text : {"", "{", "{}", R"({"lock":"xx","variables":{},"files":1,"bytes":1})"}) {
    fs::remove(temp.path() / kMarkerName);
    std::ofstream(temp.path() / kMarkerName) << text;
    EXPECT_FALSE(read_marker(temp.path())) << text;
  }
}

TEST(KeptFile, IsCheckedWhenItComesIn) {
  support::TempFolder temp;
  Settings settings;
  settings.cache = temp.path() / "cache";
  std::ofstream(temp.path() / "a.whl") << "bytes";
  auto kept = keep_file(settings, temp.path() / "a.whl", "a.whl", base::sha256("bytes"));
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(*kept, *get_file(settings, {"a.whl", base::sha256("bytes")}));
  auto wrong = keep_file(settings, temp.path() / "a.whl", "a.whl", base::sha256("others"));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(base::Code::corrupt, wrong.error().code());
  EXPECT_EQ(base::Code::not_found, get_file(settings, {"b.whl", base::sha256("b")}).error().code());
}

TEST(InstallPlan, NamesEveryPackageWithItsHashes) {
  support::TempFolder temp;
  Settings settings;
  settings.cache = temp.path() / "cache";
  std::ofstream(temp.path() / "sdk.whl") << "sdk";
  settings.sdk = {temp.path() / "sdk.whl", "0.1.0", base::sha256("sdk")};
  LockContent lock;
  lock.sdk_version = "0.1.0";
  lock.sdk_sha256 = base::sha256("sdk");
  lock.packages = {{"a", "1.0", PackageSource::index, {{"x", base::sha256("x")}, {"y", base::sha256("y")}}, {}, {}},
                   {"g", "2.0", PackageSource::git, {}, "https://example.org/g.git", "00ff"},
                   {"h", "3.0", PackageSource::built, {{"h.tar.gz", base::sha256("h")}}, {}, {}}};
  auto plan = plan_install(settings, lock, {});
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(3U, plan->hashed.size());
  EXPECT_EQ("a==1.0 --hash=sha256:" + base::sha256("x").hex() + " --hash=sha256:" + base::sha256("y").hex(),
            plan->hashed[0]);
  EXPECT_TRUE(plan->hashed[2].starts_with("lathe-sdk @ file://"));
  EXPECT_EQ((std::vector<std::string>{"g @ git+https://example.org/g.git@00ff"}), plan->unhashed);
  EXPECT_EQ((std::vector<std::string>{"g", "h"}), plan->sources);
  EXPECT_TRUE(plan->folders.empty());
  EXPECT_EQ(1U, plan_install(settings, lock, {}, {"a"})->hashed.size());
}

TEST(InstallPlan, TakesAWheelThatWasBuiltHereByItsNameAndHash) {
  support::TempFolder temp;
  Settings settings;
  settings.cache = temp.path() / "cache";
  std::ofstream(temp.path() / "h-3.0-py3-none-any.whl") << "wheel";
  LockContent lock;
  lock.packages = {{"h", "3.0", PackageSource::built, {{"h.tar.gz", base::sha256("h")}}, {}, {}}};
  auto plan = plan_install(settings, lock, {{"h", temp.path() / "h-3.0-py3-none-any.whl"}});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ((std::vector<std::string>{"h==3.0 --hash=sha256:" + base::sha256("wheel").hex()}), plan->hashed);
  EXPECT_EQ((std::vector<std::filesystem::path>{temp.path()}), plan->folders);
  EXPECT_TRUE(plan->sources.empty());
}

TEST(Cache, TakesAUserManagedInterpreterAsItIs) {
  support::TempFolder temp;
  Settings settings;
  settings.cache = temp.path();
  LockContent content;
  content.variables = {{"A", "b"}};
  for (const char* interpreter : {"/bin/sh", "sh"}) {
    content.interpreter = interpreter;
    auto realised = Cache(settings).ensure(write_lock(content), [](std::string_view) {}, {});
    ASSERT_TRUE(realised) << realised.error().text();
    EXPECT_TRUE(realised->interpreter.ends_with("/sh"));
    EXPECT_EQ("", realised->prefix);
    EXPECT_EQ("b", realised->variables.at("A"));
  }
}

}  // namespace
}  // namespace lathe::envs
